// Cells of a chapter that run where they are read: see python.js for the Python they run in.
// In the page's data stand the sources of all its cells, also of those that it hides; the element of
// the cell number 3 has the class run-3. What the book printed stays until a cell has run.
// Examples of the API are cells too, those of one entry together, and show the value of each line.
(() => {
  const { button, element, press, run, say } = pagePython;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const data = document.getElementById("run-cells");
  const cells = data ? JSON.parse(data.textContent) : all(".bd-article .doctest").map(example);
  const runCells = (window.runCells = { working: false, cells });
  const named = (cell) => `${cell.every ? "Example" : "Cell"} ${cell.index + 1}`;
  const isEdited = (cell) => cell.text !== cell.source;

  // What is typed in an example, without the prompts and what Python answers.
  function example(box) {
    const typed = box.textContent.split("\n").filter((line) => /^(>>>|\.\.\.)/.test(line));
    const entry = box.closest("dl.py > dd")?.previousElementSibling?.id;
    return { source: typed.map((line) => line.slice(4)).join("\n"), box, space: entry ?? "example", every: true };
  }

  // The buttons of a cell, below its code. A cell without them has a note that nobody sees.
  function equip(cell, index) {
    Object.assign(cell, { index, text: cell.source, note: element("span", { className: "run-note" }), restore() {} });
    cell.box ??= document.querySelector(`.run-${index}`);
    const input = cell.every ? cell.box : cell.box?.querySelector(".cell_input");
    if (!input) return;
    const tools = element("div", { className: "run-tools" }, cell.note);
    if (cell.every) input.append(tools);
    else input.after(tools);
    if (cell.elsewhere) {
      cell.note.textContent = `Does not run in a page: ${cell.elsewhere} The output is the book's.`;
      return;
    }
    cell.press = button("Run", () => upTo(cell.index));
    cell.editor = button("Edit", () => edit(cell));
    cell.undo = button("Reset", () => reset(cell));
    cell.undo.hidden = true;
    for (const one of [cell.press, cell.editor, cell.undo]) {
      one.setAttribute("aria-label", `${one.textContent} ${named(cell).toLowerCase()}`);
      tools.append(one);
    }
  }

  function edit(cell) {
    cell.code = cell.box.querySelector(".highlight");
    cell.area = element("textarea", { className: "run-edit", value: cell.text, spellcheck: false });
    cell.area.rows = cell.text.split("\n").length + 1;
    cell.area.setAttribute("aria-label", `Code of ${named(cell).toLowerCase()}; Ctrl and Enter run it`);
    cell.area.addEventListener("input", () => (cell.text = cell.area.value));
    cell.area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
        event.preventDefault();
        upTo(cell.index);
      }
    });
    cell.code.after(cell.area);
    cell.code.hidden = cell.editor.hidden = true;
    cell.undo.hidden = false;
    cell.area.focus();
  }

  // The cell as the book printed it: its code, and its output.
  function reset(cell) {
    cell.area.remove();
    cell.restore();
    cell.code.hidden = cell.editor.hidden = cell.ran = false;
    cell.undo.hidden = true;
    cell.text = cell.source;
    cell.note.textContent = "";
    cell.press.focus();
  }

  // Runs every cell above that has not run, then this one.
  const upTo = (last) => press(runCells, () => runAll(last));
  async function runAll(last) {
    const space = cells[last]?.space;
    const todo = cells.filter((cell, index) => index === last || (index < last && !cell.ran && cell.space === space));
    const code = todo.filter((cell) => !cell.elsewhere).map((cell) => cell.text).join("\n");
    const packages = ["numpy", "scipy", "pandas", "matplotlib"].filter((name) => new RegExp(`^(import|from) ${name}\\b`, "m").test(code));
    for (const cell of todo) {
      const task = { source: cell.text, packages, space, every: cell.every, elsewhere: cell.elsewhere };
      if (!cell.elsewhere) cell.note.textContent = "running …";
      const outputs = await run(task).finally(() => cell.elsewhere || (cell.note.textContent = ""));
      const [kind, text] = outputs.at(-1) ?? [];
      cell.ran = kind !== "error";
      if (cell.elsewhere) continue;
      if (kind === "absent") {
        cell.note.textContent = `Not run: it needs ${text}, which a cell above would make that does not run in a page. The output is the book's.`;
        continue;
      }
      show(cell, outputs);
      performance.mark(`ran ${cell.index}`);
      if (kind === "error") return fail(cell);
      cell.note.textContent = "ran";
    }
    say(last < cells.length ? `${named(cells[last])} has run.` : "Every cell of this page has run.");
  }

  function fail(cell) {
    const place = cell.box ? named(cell) : "A check that the page hides";
    const cure = isEdited(cell)
      ? "Change the code and run it again, or reset it."
      : cells.some(isEdited)
        ? "A cell above was changed: reset that, and run again."
        : "It was not changed: there may be a library that browsers lack, or versions that differ from those of the book.";
    say(`${place} failed; the error stands where its output would. ${cure}`);
    cell.note.textContent = "failed";
    cell.box?.querySelector("details")?.setAttribute("open", "");
  }

  // Where the outputs of a cell go: for hidden ones a place is made after the last one that is seen.
  function place(cell) {
    cell.output ??= cell.box?.querySelector(".cell_output");
    if (!cell.output) {
      cell.output = element("div", { className: "cell_output docutils container" });
      if (cell.box) cell.box.append(cell.output);
      else cells.slice(0, cell.index).findLast((one) => one.box)?.box.after(cell.output);
    }
    return cell.output;
  }

  // Puts outputs in the place of the book's, which are hidden. What has a caption keeps it, and a living figure its hand.
  function show(cell, outputs) {
    cell.restore();
    if ((!cell.box || cell.silent) && outputs.at(-1)?.[0] !== "error") return;
    if (!outputs.length && !cell.box.querySelector(".cell_output")) return;
    const output = place(cell);
    const captioned = all("figure :is(img, table)", output).filter((one) => !one.closest("figcaption"));
    const hidden = [...output.children].filter((one) => !one.matches("figure, :has(figure)"));
    const shown = outputs.map(([kind, text]) => {
      const made = made_of(kind, text);
      const [wanted] = all("img, table", made);
      const at = captioned.findIndex((one) => one.localName === wanted?.localName);
      if (at < 0) {
        output.append(made);
        return made;
      }
      const [old] = captioned.splice(at, 1);
      if (kind === "picture") wanted.alt = old.alt;
      hidden.push(old);
      old.after(wanted);
      return wanted;
    });
    hidden.forEach((one) => (one.hidden = true));
    cell.restore = () => {
      hidden.forEach((one) => (one.hidden = false));
      shown.forEach((one) => one.remove());
      cell.restore = () => {};
    };
  }

  function made_of(kind, text) {
    if (kind === "html") {
      const made = element("div", { className: "output text_html", innerHTML: text });
      all("table", made).forEach(words);
      return made;
    }
    if (kind === "picture") {
      const src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      return element("div", { className: "output image_svg" }, element("img", { src, alt: "What this cell drew." }));
    }
    const failed = kind === "error";
    const printed = element("div", { className: "highlight" }, element("pre", { textContent: text, tabIndex: 0 }));
    return element("div", { className: `output ${failed ? "run-error" : "text_plain"}`, role: failed ? "alert" : "" }, printed);
  }

  // As sphinx_additions/tables.py: columns in which nothing starts with a number hold words.
  function words(table) {
    const rows = [...table.rows].map((row) => [...row.cells].reverse());
    const columns = table.querySelector("tbody tr")?.querySelectorAll("td").length ?? 0;
    for (let at = 0; at < columns; at++) {
      const column = rows.flatMap((row) => row[at] ?? []);
      if (!column.some((one) => one.localName === "td" && /^\s*[-−+±]?[.\d]/.test(one.textContent)))
        column.forEach((one) => one.classList.add("words"));
    }
  }

  document.addEventListener("python-ended", () => cells.forEach((cell) => (cell.ran = false)));
  cells.forEach(equip);
  const first = document.querySelector(".bd-article .cell:has(.cell_input)");
  if (!first) return;
  const whole = () => button("Run this page", () => upTo(cells.length));
  const text = "in your browser, with nothing to install";
  first.before(element("div", { className: "run-page" }, whole(), element("span", { textContent: text })));
  // The first cell may be some screens down: the menu of the page has the same button.
  const menu = document.querySelector(".page-menu");
  const inMenu = whole();
  menu?.querySelector("ul").prepend(element("li", {}, inMenu));
  inMenu.addEventListener("click", () => (menu.open = false));
})();
