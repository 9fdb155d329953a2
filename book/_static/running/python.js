// The page's own Python: asks once, starts one worker, hands it cells, and says in words what goes on.
window.pagePython = (() => {
  const base = new URL(".", document.currentScript.src).href;
  const consent = "recsample: Python in pages";
  const stopped = new Error("Python was stopped");
  let worker, settings, answered, late, ticking;

  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };
  const button = (textContent, onclick) => element("button", { type: "button", textContent, onclick });

  // The line at the foot of the window: what is going on, and the button that ends it.
  const said = element("span", { role: "status" });
  const seconds = element("span", { ariaHidden: "true" }); // a number that changes is not read aloud
  const stopper = button("Stop", () => {
    end(stopped);
    say("Stopped. Python has ended and forgot its variables: the next press runs every cell above again.");
  });
  const closer = button("Close", () => (line.hidden = true));
  const line = element("div", { className: "run-line", hidden: true }, said, seconds, stopper, closer);
  document.body.append(line);
  const say = (text, busy = false) => {
    line.hidden = false;
    stopper.hidden = !busy;
    closer.hidden = busy;
    said.textContent = text;
    clearInterval(ticking);
    seconds.textContent = "";
    if (!busy) return;
    const begun = performance.now();
    ticking = setInterval(() => (seconds.textContent = ` ${Math.round((performance.now() - begun) / 1000)} s`), 1000);
  };

  const kept = (value) => {
    try {
      return value ? localStorage.setItem(consent, value) : localStorage.getItem(consent);
    } catch {
      return null; // a browser that keeps nothing is asked on each page
    }
  };
  async function agreed() {
    settings ??= await (await fetch(`${base}runtime.json`)).json();
    if (worker || kept() === settings.runtime) return true;
    const yes = confirm(
      `Run Python in this page?\n\nThis loads ${settings.loads}. Your browser keeps it for the next time. Nothing is sent anywhere.`,
    );
    if (yes) kept(settings.runtime);
    return yes;
  }

  // One press at a time, for whoever says that it is working; the work, once Python may be used.
  async function press(page, work) {
    if (page.working) return;
    page.working = true;
    try {
      if (location.protocol === "file:")
        say(
          "A page that is opened as a file may not start Python. Serve the book's folder, for example with " +
            "“python -m http.server”, and open http://localhost:8000 instead.",
        );
      else if (await agreed()) {
        performance.mark("press");
        await work();
      }
    } catch (error) {
      if (error === late) say(error.message);
      else if (error !== stopped) say(`This did not work (${error.message}). Is there a network? Press again to try again.`);
    } finally {
      page.working = false;
    }
  }

  // Hands the worker a cell, and resolves to what it shows. One that may run for so many seconds is stopped after them.
  function run({ most, ...task }) {
    if (!worker) {
      // A worker from a blob keeps to the policy of the page, which says whom it may connect to.
      const source = new Blob([`import "${base}worker.js"`], { type: "text/javascript" });
      worker = new Worker(URL.createObjectURL(source), { type: "module" });
      worker.onmessage = ({ data }) => {
        if (data.said) {
          say(`${data.said} …`, true);
          if (data.said === "Running") answered.started();
        } else if (data.failed) end(new Error(data.failed));
        else answered.resolve(data.outputs);
      };
      worker.onerror = ({ message }) => end(new Error(message || "the worker could not be started"));
    }
    return new Promise((resolve, reject) => {
      let timer;
      const settled = (how) => (value) => (clearTimeout(timer), how(value));
      const stop = () => end((late = new Error(`This takes more than ${most} seconds here and was stopped. The command recsample has no such limit.`)));
      const started = () => most && (timer = setTimeout(stop, most * 1000));
      answered = { resolve: settled(resolve), reject: settled(reject), started };
      worker.postMessage({ settings, ...task });
    });
  }

  function end(why) {
    worker.terminate();
    worker = undefined;
    answered.reject(why);
    document.dispatchEvent(new Event("python-ended")); // with all variables, whatever the cause
  }

  return { button, element, press, run, say };
})();
