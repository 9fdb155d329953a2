// The page's own Python: asks once, starts one worker, hands it cells, and says in words what goes on.
window.pagePython = (() => {
  const base = new URL(".", document.currentScript.src).href;
  const consent = "recsample: Python in pages";
  let worker, settings, waiting = new Map(), number = 0, stopped = [];

  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  // The line at the foot of the window: what is going on, and the button that ends it.
  const said = element("span", { role: "status" });
  const stopper = element("button", { type: "button", textContent: "Stop", onclick: () => stop() });
  const closer = element("button", { type: "button", textContent: "Close", onclick: () => (line.hidden = true) });
  const line = element("div", { className: "run-line", hidden: true }, said, stopper, closer);
  const say = (text, busy = false) => {
    if (!line.isConnected) document.body.append(line);
    line.hidden = false;
    stopper.hidden = !busy;
    closer.hidden = busy;
    said.textContent = text;
  };

  // Why there can be no Python here, in words for the reader; nothing if there can.
  const refusal = () => {
    if (location.protocol === "file:")
      return (
        "A page that is opened as a file may not start Python. Serve the book's folder, for example with " +
        "“python -m http.server”, and open http://localhost:8000 instead."
      );
    if (!window.Worker || !window.WebAssembly) return "This browser cannot run Python: it lacks workers or WebAssembly.";
  };

  const kept = (value) => {
    try {
      return value ? localStorage.setItem(consent, value) : localStorage.getItem(consent);
    } catch {
      return null; // a browser that keeps nothing is asked each time
    }
  };

  async function agreed() {
    settings ??= { base, ...(await (await fetch(`${base}runtime.json`)).json()) };
    settings.runtime = new URL(settings.runtime, base).href;
    if (worker || kept() === settings.runtime) return true;
    const from = settings.runtime.startsWith(location.origin) ? "this site" : new URL(settings.runtime).host;
    const yes = element("button", { value: "yes", textContent: "Load and run", autofocus: true });
    const dialog = element(
      "dialog",
      { className: "run-ask" },
      element(
        "form",
        { method: "dialog" },
        element("p", { id: "run-ask", textContent: "Run Python in this page?" }),
        element("p", {
          textContent:
            `About ${settings.megabytes} MB are loaded from ${from} now, and more where a cell needs it: up to ` +
            `${settings.most} MB in all. Your browser keeps them for the next time. Nothing is sent anywhere.`,
        }),
        yes,
        element("button", { value: "no", textContent: "Not now" }),
      ),
    );
    dialog.setAttribute("aria-labelledby", "run-ask");
    document.body.append(dialog);
    dialog.showModal();
    const answer = await new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue)));
    dialog.remove();
    if (answer === "yes") kept(settings.runtime);
    return answer === "yes";
  }

  // Whether Python may be used: says why not, or asks.
  async function ready() {
    const why = refusal();
    if (why) return say(why), false;
    try {
      return await agreed();
    } catch (error) {
      return say(`Nothing could be loaded (${error.message}). Is there a network? Press again to try again.`), false;
    }
  }

  // One press at a time, for whoever says that it is working; the work, once Python may be used.
  async function press(page, work) {
    if (page.working) return;
    page.working = true;
    try {
      if (await ready()) {
        performance.mark("press");
        await work();
      }
    } finally {
      page.working = false;
    }
  }

  function open() {
    worker = new Worker(`${base}worker.js`, { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.said) return say(`${data.said} …`, true);
      waiting.get(data.id)(data);
      waiting.delete(data.id);
    };
    worker.onerror = (event) => end(event.message || "the worker could not be started");
  }

  // Hands the worker a cell; resolves to what it shows, or to why it could not.
  async function run(task) {
    if (!worker) open();
    const id = ++number;
    const answer = await new Promise((done) => {
      waiting.set(id, done);
      worker.postMessage({ id, settings, ...task });
    });
    if (answer.failed === "start") end(answer.why);
    return answer;
  }

  // Ends Python: all variables are gone, and whoever asked is told.
  function end(why) {
    worker?.terminate();
    worker = undefined;
    const left = [...waiting.values()];
    waiting = new Map();
    left.forEach((done) => done({ failed: "end", why }));
    stopped.forEach((told) => told());
  }
  const stop = () => {
    end("stopped");
    say("Stopped. Python has ended and forgot its variables: the next press runs every cell above again.");
  };

  return { element, press, run, say, onend: (told) => stopped.push(told) };
})();
