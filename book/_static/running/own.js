// The page "Your own numbers": a form, and what own.py answers to it in the page's own Python.
(() => {
  const { element, press, run, say } = pagePython;
  const place = document.getElementById("own-numbers");
  if (!place) return;
  const KINDS = { ranks: "sampled ranks", scores: "positive and negative scores", printed: "numbers of a printed table" };
  const HINTS = {
    ranks: "One row per user, one column per recommender: the rank of the held-out item among the drawn ones, 1 at best. Names of the columns may stand on the first line.",
    scores: "One row per user, for one recommender: the score of the held-out item, then the scores of the drawn ones.",
    printed: "As a table: metrics on the first line, then a line for each recommender, its name first. Keep zeros at the end of numbers.",
  };
  const DRAWN = { uniform: "at random with equal chances, anew for each user", popular: "popular items more often", unknown: "unknown" };
  const REPLACE = { "": "not known", without: "without replacement", with: "with replacement" };
  const controls = {};
  const labelled = (name, text, control, hint = "") => {
    control.id = `own-${name}`;
    controls[name] = control;
    return element("div", { className: "own-field" }, element("label", { htmlFor: control.id, textContent: text }), control, hint);
  };
  const choice = (options) => element("select", {}, ...Object.entries(options).map(([value, textContent]) => element("option", { value, textContent })));
  const input = (value, more = {}) => element("input", { type: "text", value, autocomplete: "off", ...more });

  const hint = element("p", { id: "own-hint" });
  const area = element("textarea", { className: "run-edit", rows: 8, spellcheck: false });
  area.setAttribute("aria-describedby", "own-hint");
  const file = element("input", { type: "file", accept: ".csv,.tsv,.txt" });
  let whole; // a large text, which the box shows the beginning of
  const said = element("div", { className: "own-answer", tabIndex: -1 });
  const button = (label, asked) => element("button", { type: "button", textContent: label, onclick: () => ask(asked) });
  const form = element(
    "form",
    { className: "own-form", onsubmit: (event) => (event.preventDefault(), ask("answer")) },
    labelled("kind", "What you have", choice(KINDS)),
    labelled("text", "Paste it here, or drop a file", area, hint),
    labelled("file", "or choose a file", file),
    labelled("m", "Items drawn for each user, m", input("100", { inputMode: "numeric" })),
    labelled("items", "Items in the pool, n_items, the held-out one included", input("")),
    labelled("users", "Users of the test set, n_users", input("", { inputMode: "numeric" })),
    labelled("drawn", "How they were drawn", choice(DRAWN)),
    labelled("replace", "Drawn", choice(REPLACE)),
    labelled("metrics", "Metrics, between commas", input("", { placeholder: "Recall@10, NDCG@10, AP, AUC" })),
    labelled("width", "For a plan: how far apart the limits may be", input("", { placeholder: "half of what they are" })),
    element("div", { className: "own-presses" }, button("Answer", "answer"), button("Plan", "plan"), element("button", { type: "button", textContent: "Copy a link with these settings", onclick: link })),
  );
  place.replaceChildren(form, said);

  const settings = () => Object.fromEntries(Object.entries(controls).filter(([name]) => name !== "text" && name !== "file").map(([name, control]) => [name, control.value]));
  const fit = () => {
    const kind = controls.kind.value;
    hint.textContent = HINTS[kind];
    const shown = { m: kind !== "scores", users: kind === "printed", width: kind !== "printed" };
    for (const [name, seen] of Object.entries(shown)) controls[name].parentElement.hidden = !seen;
  };
  controls.kind.addEventListener("change", fit);

  // Settings that a link carries; data it never does.
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) if (name in controls && !["text", "file"].includes(name)) controls[name].value = value;
  fit();
  async function link() {
    const carried = new URLSearchParams(Object.entries(settings()).filter(([, value]) => value));
    history.replaceState(null, "", `#${carried}`);
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied. It carries the settings above, and none of your data.");
    } catch {
      say("The link stands in the line of the address. It carries the settings above, and none of your data.");
    }
  }

  // A box of a million lines would keep the browser many seconds: of a large text it shows the beginning.
  const take = (text, name) => {
    whole = text.length > 100_000 ? text : undefined;
    area.value = whole ? `${text.slice(0, 1_000)}\n…` : text;
    say(`Read ${name} into the page: ${text.trimEnd().split("\n").length.toLocaleString()} lines. It goes nowhere else.`);
  };
  const read = async (one) => take(await one.text(), one.name);
  area.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text");
    if (pasted.length <= 100_000) return;
    event.preventDefault();
    take(area.value.slice(0, area.selectionStart) + pasted + area.value.slice(area.selectionEnd), "what you pasted");
  });
  area.addEventListener("input", () => (whole = undefined));
  file.addEventListener("change", () => file.files[0] && read(file.files[0]));
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files[0]) return;
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });

  const ownNumbers = (window.ownNumbers = { working: false });
  const ask = (asked) => press(ownNumbers, () => show(asked));
  async function show(asked) {
    said.replaceChildren();
    const source = `import pandas, scipy, matplotlib.pyplot\nimport own\nown.${asked}(text, settings)`;
    const answer = await run({ source, given: { text: whole ?? area.value, settings: settings() }, space: "own" });
    performance.mark("answered");
    if (answer.failed) {
      if (answer.why !== "stopped") say(`This did not work (${answer.why}). Is there a network? Press again to try again.`);
      return;
    }
    const [kind, text] = answer.outputs.at(-1);
    if (kind === "html") said.innerHTML = text;
    else {
      const why = text.trim().split("\n").pop();
      const [, refused] = why.match(/^ValueError: (.*)/s) ?? [];
      said.replaceChildren(element("p", { className: "run-error own-refusal", role: "alert", textContent: refused ?? why }));
    }
    said.querySelectorAll(".run-copied").forEach(copier);
    said.querySelectorAll(".run-what-if").forEach(slider);
    say(kind === "html" ? "The answer stands below the form." : "No answer: the reason stands below the form.");
    said.focus();
  }

  function copier(block) {
    const copy = element("button", { type: "button", textContent: "Copy" });
    copy.onclick = async () => {
      await navigator.clipboard.writeText(block.textContent);
      copy.textContent = "Copied";
    };
    block.before(element("div", { className: "run-tools" }, copy));
  }

  function slider(box) {
    const { m, metric, values } = JSON.parse(box.dataset.values);
    const range = element("input", { type: "range", min: 0, max: m.length - 1, value: m.length - 1, id: "own-smaller" });
    const told = element("output", { htmlFor: "own-smaller" });
    const tell = () => {
      const at = range.value;
      const each = Object.entries(values).map(([name, row]) => `${name} ${row[at].toFixed(4)}`);
      told.textContent = `With m = ${m[at]} of the items that were drawn, the uncorrected ${metric} is, on average: ${each.join(", ")}.`;
      range.setAttribute("aria-valuetext", `m = ${m[at]}`);
    };
    range.addEventListener("input", tell);
    tell();
    box.replaceChildren(element("label", { htmlFor: "own-smaller", textContent: "m " }), range, told);
  }
})();
