// What scripts/pdf.py asks of the joined page.

window.sheets = (() => {
  const all = (selector) => [...document.querySelectorAll(selector)];

  // Make smaller what is wider than the text, and contents that are longer than a sheet.
  const fit = () => {
    for (const contents of all("nav.chapters")) contents.style.zoom = Math.min(1, 920 / contents.offsetHeight);
    for (const table of all("article table")) {
      const room = table.parentElement.clientWidth / table.offsetWidth;
      if (room < 1) table.style.zoom = room;
    }
    for (const formula of all("article mjx-container[display]")) {
      const box = formula.parentElement;
      const number = box.querySelector(".eqno")?.offsetWidth ?? 0;
      const room = (box.clientWidth - 1.5 * number) / formula.firstElementChild.getBoundingClientRect().width;
      if (room < 1) formula.style.fontSize = `${parseFloat(getComputedStyle(formula).fontSize) * room}px`;
    }
  };

  // What takes less than a third of a sheet stays on one; longer boxes and tables go on over the sheets.
  const keep = () => {
    for (const box of all("article :is(div.admonition, table, figure, pre)")) {
      if (box.offsetHeight < 340) box.style.breakInside = "avoid";
    }
  };

  // The numbers of pages into the table of contents.
  const number = (pages) => {
    for (const link of all("nav.chapters a")) {
      link.querySelector(".number").textContent = pages[link.hash.slice(1)];
    }
  };

  return { fit, keep, number };
})();
