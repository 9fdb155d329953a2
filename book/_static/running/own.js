// The page "Your own numbers": a form, and what own.py answers to it in the page's own Python.
(() => {
  const { button, element, press, run, say } = pagePython;
  const HINTS = {
    ranks: "One row per user, one column per recommender: the rank of the held-out item among the drawn ones, 1 at best. Names of the columns may stand on the first line, user for a column of ids, or group where a person has several rows. Or as for the command: columns user, model and rank.",
    scores: "One row per user, for one recommender: the score of the held-out item, then the scores of the drawn ones. A column of ids is called user.",
    printed: "As a table: metrics on the first line, then a line for each recommender, its name first. Keep zeros at the end of numbers.",
  };
  // Invented numbers of each kind, and what has to be said of them.
  const lines = (n, line) => Array.from({ length: n }, (_, k) => line((k * 0.618034) % 1, k)).join("\n");
  const EXAMPLES = {
    ranks: () => [`user,A,B\n${lines(300, (x, k) => `u${k + 1},${1 + Math.floor(101 * x ** 4)},${1 + Math.floor(101 * x ** 2)}`)}`, { m: 100, items: 3706 }],
    scores: () => [lines(100, (x, k) => Array.from({ length: 21 }, (_, j) => (j ? Math.sin(k + 7 * j) : 1.2 * x).toFixed(3)).join(",")), { items: 500 }],
    printed: () => ["model,HR@10,NDCG@10\nA,0.670,0.396\nB,0.652,0.401", { m: 100, items: 3706, users: 6040 }],
  };
  const LARGE = 100_000; // a text of which the box shows only the beginning: all of it would keep the browser many seconds
  const MOST = { plan: 20 }; // seconds
  const NUMBER = 'required pattern="[0-9][0-9,]*( [0-9][0-9,]*)?" title="a whole number, or the smallest and the largest between blanks"';
  const place = document.getElementById("own-numbers");
  place.innerHTML = `
    <form class="own-form" autocomplete="off">
      <p><label for="own-kind">What you have</label>
        <select id="own-kind" name="kind">
          <option value="ranks">sampled ranks</option>
          <option value="scores">positive and negative scores</option>
          <option value="printed">numbers of a printed table</option>
        </select></p>
      <p><label for="own-text">Paste it here, or drop a file</label>
        <textarea id="own-text" class="run-edit" rows="8" spellcheck="false" required aria-describedby="own-hint"></textarea>
        <span id="own-hint"></span></p>
      <p><label for="own-file">or choose a file</label> <input id="own-file" type="file" accept=".csv,.tsv,.txt"></p>
      <p><label for="own-m">Items drawn for each user, m</label> <input id="own-m" name="m" value="100" inputmode="numeric" ${NUMBER}></p>
      <p><label for="own-items">Items in the pool, n_items, the held-out one included</label> <input id="own-items" name="items" inputmode="numeric" ${NUMBER}></p>
      <p><label for="own-users">Users of the test set, n_users</label> <input id="own-users" name="users" inputmode="numeric" ${NUMBER}></p>
      <p><label for="own-drawn">How they were drawn</label>
        <select id="own-drawn" name="drawn">
          <option value="uniform">at random with equal chances, anew for each user</option>
          <option value="popular">popular items more often</option>
          <option value="unknown">unknown</option>
        </select></p>
      <p><label for="own-replace">Drawn</label>
        <select id="own-replace" name="replace">
          <option value="">not known</option>
          <option value="without">without replacement</option>
          <option value="with">with replacement</option>
        </select></p>
      <p><label for="own-metrics">Metrics, between commas</label>
        <input id="own-metrics" name="metrics" placeholder="Recall@10, NDCG@10, AP, AUC"></p>
      <p><label for="own-width">For a plan: how far apart the limits may be</label>
        <input id="own-width" name="width" placeholder="half of what they are"></p>
    </form>
    <div class="own-answer" tabindex="-1"></div>`;
  const [form, said] = place.children;
  const [area, file] = ["own-text", "own-file"].map((id) => document.getElementById(id));
  form.append(element("button", { textContent: "Answer" }), button("Plan", () => form.reportValidity() && ask("plan")), button("Fill in an example", example), button("Copy a link with these settings", link));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask("answer");
  });

  // Settings have names, and a link carries them; data have none, so that it never does.
  const settings = () => Object.fromEntries(new FormData(form));
  const carried = new URLSearchParams(location.hash.slice(1));
  for (const control of form.elements) if (control.name && carried.has(control.name)) control.value = carried.get(control.name);
  function fit() {
    const { kind } = settings();
    document.getElementById("own-hint").textContent = HINTS[kind];
    const needed = { m: kind !== "scores", users: kind === "printed", width: kind !== "printed" };
    for (const [name, shown] of Object.entries(needed)) {
      form.elements[name].parentElement.hidden = !shown;
      form.elements[name].required = shown && ["m", "users"].includes(name);
    }
  }
  form.elements.kind.addEventListener("change", fit);
  fit();
  function example() {
    const [text, stated] = EXAMPLES[settings().kind]();
    take(text, "an example");
    for (const [name, value] of Object.entries({ drawn: "uniform", replace: "", metrics: "", ...stated })) form.elements[name].value = value;
  }
  async function link() {
    const given = Object.entries(settings()).filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(given)}`);
    const copied = await copy(location.href);
    say(`The link ${copied ? "is copied" : "stands in the line of the address"}. It carries the settings above, and none of your data.`);
  }
  const copy = (text) => navigator.clipboard.writeText(text).then(() => true, () => false); // not every browser lets a page

  let whole; // a large text
  const take = (text, name) => {
    whole = text.length > LARGE ? text : undefined;
    area.value = whole ? `${text.slice(0, 1_000)}\n…` : text;
    say(`Read ${name} into the page: ${text.trimEnd().split("\n").length.toLocaleString()} lines. It goes nowhere else.`);
  };
  const read = async (chosen) => chosen && take(await chosen.text(), chosen.name);
  area.addEventListener("input", () => (whole = undefined));
  area.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text");
    if (pasted.length <= LARGE) return;
    event.preventDefault();
    take(area.value.slice(0, area.selectionStart) + pasted + area.value.slice(area.selectionEnd), "what you pasted");
  });
  file.addEventListener("change", () => read(file.files[0]));
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });

  const ownNumbers = (window.ownNumbers = { working: false });
  const ask = (asked) => press(ownNumbers, () => show(asked));
  async function show(asked) {
    said.replaceChildren();
    const given = { text: whole ?? area.value, settings: settings() };
    const packages = ["numpy", "scipy", "pandas", "matplotlib"];
    const outputs = await run({ source: `import own\nown.answered_or_refused(own.${asked}, text, settings)`, given, packages, space: "own", most: MOST[asked] });
    performance.mark("answered");
    const [kind, text] = outputs.at(-1);
    if (kind === "html") said.innerHTML = text;
    else {
      const why = text.trim().split("\n").pop();
      said.append(element("p", { className: "run-error own-refusal", role: "alert", textContent: why }));
    }
    said.querySelectorAll(".run-copied").forEach(copier);
    say(kind === "html" && !said.querySelector(".own-refusal") ? "The answer stands below the form." : "No answer: the reason stands below the form.");
    said.focus();
  }

  function copier(block) {
    const pressed = button("Copy", async () => (pressed.textContent = (await copy(block.textContent)) ? "Copied" : "Not copied"));
    block.before(pressed);
  }
})();
