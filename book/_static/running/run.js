// Cells of a chapter that run where they are read: see python.js for the Python they run in.
// In the page's data stand the sources of all its cells, also of those that it hides; the element of
// the cell number 3 has the class run-3. What the book printed stays until a cell has run.
// Examples of the API are cells too, those of one entry together, and show the value of each line.
(() => {
  const { element, press, run, say, onend } = pagePython;
  const data = document.getElementById("run-cells");
  const runCells = (window.runCells = { working: false });
  const all = (selector, root) => [...root.querySelectorAll(selector)];
  const cells = data ? JSON.parse(data.textContent) : all(".bd-article .doctest", document).map(example);
  runCells.cells = cells;

  cells.forEach((cell, index) => {
    Object.assign(cell, { index, text: cell.source });
    cell.box ??= document.querySelector(`.run-${index}`);
  });

  // What is typed in an example, without the prompts and what Python answers.
  function example(box) {
    const typed = box.textContent.split("\n").filter((line) => /^(>>>|\.\.\.)/.test(line));
    const entry = box.closest("dl.py > dd")?.previousElementSibling?.id;
    return { source: typed.map((line) => line.slice(4)).join("\n"), box, space: entry ?? "example", every: true };
  }

  // The buttons of a cell, below its code.
  function equip(cell) {
    const input = cell.every ? cell.box : cell.box?.querySelector(".cell_input");
    if (!input) return;
    const put = (tools) => (cell.every ? input.append(tools) : input.after(tools));
    const name = named(cell).toLowerCase();
    const button = (label, act) => element("button", { type: "button", textContent: label, onclick: act });
    cell.note = element("span", { className: "run-note" });
    if (cell.elsewhere) {
      put(element("div", { className: "run-tools" }, cell.note));
      cell.note.textContent = `Does not run in a page: ${cell.elsewhere} The output is the book's.`;
      return;
    }
    cell.press = button("Run", () => upTo(cell.index));
    cell.editor = button("Edit", () => edit(cell));
    cell.undo = button("Reset", () => reset(cell));
    cell.undo.hidden = true;
    const controls = [cell.press, cell.editor, cell.undo];
    controls.forEach((one) => one.setAttribute("aria-label", `${one.textContent} ${name}`));
    put(element("div", { className: "run-tools" }, cell.note, ...controls));
  }

  const named = (cell) => `${cell.every ? "Example" : "Cell"} ${cell.index + 1}`;

  function edit(cell) {
    const code = cell.box.querySelector(".highlight");
    if (cell.area) return cell.area.focus();
    const area = element("textarea", { className: "run-edit", value: cell.text, spellcheck: false });
    area.rows = cell.text.split("\n").length + 1;
    area.setAttribute("aria-label", `Code of ${named(cell).toLowerCase()}; Ctrl and Enter run it`);
    area.addEventListener("input", () => ([cell.text, cell.undo.hidden] = [area.value, false]));
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
        event.preventDefault();
        upTo(cell.index);
      }
    });
    code.hidden = true;
    code.after(area);
    Object.assign(cell, { area, code });
    cell.editor.hidden = true;
    cell.undo.hidden = false;
    area.focus();
  }

  // The cell as the book printed it: its code, and its output.
  function reset(cell) {
    cell.area?.remove();
    if (cell.code) cell.code.hidden = false;
    [cell.text, cell.area] = [cell.source, undefined];
    cell.restore?.();
    cell.ran = false;
    cell.note.textContent = "";
    cell.editor.hidden = false;
    cell.undo.hidden = true;
    cell.press.focus();
  }

  // Runs every cell above that has not run, then this one.
  const upTo = (last) => press(runCells, () => runAll(last));
  async function runAll(last) {
    const space = cells[last]?.space;
    const todo = cells.filter((cell, index) => index === last || (index < last && !cell.ran && cell.space === space));
    const here = todo.filter((cell) => !cell.elsewhere).map((cell) => cell.text).join("\n");
    const imported = [...new Set([...here.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => name))];
    for (const cell of todo) {
      if (cell.elsewhere) cell.ran = true;
      const shown = cell.press && !cell.elsewhere;
      if (shown) cell.note.textContent = "running …";
      const answer = await run({ source: cell.text, imported, elsewhere: Boolean(cell.elsewhere), space, every: cell.every });
      if (cell.elsewhere) continue;
      if (shown) cell.note.textContent = "";
      if (answer.failed) {
        if (answer.why !== "stopped") say(sorry(answer));
        return;
      }
      const [kind, text] = answer.outputs.at(-1) ?? [];
      cell.ran = true;
      if (kind === "absent") {
        if (shown) cell.note.textContent = `Not run: it needs ${text}, which a cell above would make that does not run in a page. The output is the book's.`;
        continue;
      }
      show(cell, answer.outputs);
      performance.mark(`ran ${cell.index}`);
      if (kind === "error") {
        cell.ran = false;
        return fail(cell, text);
      }
      if (shown) cell.note.textContent = "ran";
    }
    say(last < cells.length ? `${named(cells[last])} has run.` : "Every cell of this page has run.");
  }

  const sorry = ({ failed, why }) =>
    failed === "run"
      ? `Something could not be loaded (${why}). Is there a network? Press again to try again.`
      : `Python could not be started (${why}). Is there a network? Press again to try again.`;

  function fail(cell, error) {
    const edited = cell.text !== cell.source;
    const place = cell.box ? named(cell) : "A check that the page hides";
    const what = /^ModuleNotFoundError/m.test(error)
      ? "It needs a library that there is not for browsers."
      : edited
      ? "Change the code and run it again, or reset it."
      : cells.some((one) => one.text !== one.source)
        ? "A cell above was changed: reset that, and run again."
        : "It was not changed: the versions here may differ from those the book was built with.";
    say(`${place} failed; the error stands where its output would. ${what}`);
    if (cell.note) cell.note.textContent = "failed";
    const fold = cell.box?.querySelector("details");
    if (fold && !fold.querySelector("img")) fold.open = true;
  }

  // Where the outputs of a cell go: for hidden ones a place is made after the last one that is seen.
  function place(cell) {
    if (cell.output) return cell.output;
    cell.output = cell.box?.querySelector(".cell_output");
    if (!cell.output) {
      cell.output = element("div", { className: "cell_output docutils container" });
      if (cell.box) (cell.box.querySelector("details:not(.above-input)") ?? cell.box).append(cell.output);
      else cells.slice(0, cell.index).findLast((one) => one.box)?.box.after(cell.output);
    }
    return cell.output;
  }

  // Puts outputs in the place of the book's. What has a caption keeps it, and a living figure its hand.
  function show(cell, outputs) {
    cell.restore?.();
    if ((!cell.box || cell.silent) && outputs.at(-1)?.[0] !== "error") return;
    if (!outputs.length && !cell.box?.querySelector(".cell_output")) return;
    const output = place(cell);
    const undo = [];
    const slots = all("figure :is(img, table)", output).filter((one) => !one.closest("figcaption"));
    const others = [...output.children].filter((one) => one.localName !== "figure" && !one.querySelector("figure"));
    others.forEach((one) => (one.hidden = true));
    undo.push(() => others.forEach((one) => (one.hidden = false)));
    for (const [kind, text] of outputs) {
      const made = made_of(kind, text);
      const wanted = { picture: "IMG", html: "TABLE" }[kind];
      const slot = slots.find((one) => one.tagName === wanted);
      if (slot && kind === "picture") {
        slots.splice(slots.indexOf(slot), 1);
        const old = slot.src;
        slot.src = made.querySelector("img").src;
        undo.push(() => (slot.src = old));
      } else if (slot && made.querySelector("table")) {
        slots.splice(slots.indexOf(slot), 1);
        const table = made.querySelector("table");
        slot.replaceWith(table);
        undo.push(() => table.replaceWith(slot));
      } else {
        output.append(made);
        undo.push(() => made.remove());
      }
    }
    cell.restore = () => {
      undo.reverse().forEach((back) => back());
      cell.restore = undefined;
    };
  }

  function made_of(kind, text) {
    if (kind === "html") {
      const made = element("div", { className: "output text_html", innerHTML: text });
      all("table", made).forEach(words);
      return made;
    }
    if (kind === "picture") {
      const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      return element("div", { className: "output image_svg" }, element("img", { src: address, alt: "What this cell drew." }));
    }
    const look = kind === "error" ? "output traceback run-error" : "output text_plain";
    return element("div", { className: look, role: kind === "error" ? "alert" : "" }, element("div", { className: "highlight" }, element("pre", { textContent: text, tabIndex: 0 })));
  }

  // As sphinx_additions/tables.py: columns in which nothing starts with a number hold words.
  function words(table) {
    const rows = [...table.rows];
    const columns = Math.min(...rows.map((row) => row.querySelectorAll("td").length).filter(Boolean));
    if (!Number.isFinite(columns) || rows.some((row) => row.querySelector("td[colspan]"))) return;
    for (let back = 1; back <= columns; back++) {
      const column = rows.map((row) => row.cells[row.cells.length - back]).filter(Boolean);
      const inside = column.filter((one) => one.localName === "td");
      if (inside.every((one) => !/^\s*[-−+±]?[.\d]/.test(one.textContent))) column.forEach((one) => one.classList.add("words"));
    }
  }

  onend(() => cells.forEach((cell) => (cell.ran = false)));
  cells.forEach(equip);
  const first = document.querySelector(".bd-article .cell:has(.cell_input)");
  if (first)
    first.before(
      element("div", { className: "run-page" }, element("button", { type: "button", textContent: "Run this page", onclick: () => upTo(cells.length) }), element("span", { textContent: "in your browser, with nothing to install" })),
    );
  
})();
