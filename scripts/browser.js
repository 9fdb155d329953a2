// What scripts/browser.py asks of a page: each check lists what is wrong.
(check) => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const box = (element) => element.getBoundingClientRect();
  const shown = (element) =>
    box(element).width > 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  // Enough to find an element.
  const name = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 150);

  // Opens all that is folded, such as solutions: what then shows no more than its title.
  const folds = () => {
    const found = all("article :is(details, .dropdown)");
    found.forEach((fold) => fold.open || fold.querySelector("summary, button")?.click());
    const opened = (fold) => [...fold.children].slice(1).some(shown);
    return found.filter((fold) => !opened(fold)).map((fold) => `does not open: ${name(fold)}`);
  };

  const formulas = () => {
    const wrong = (math) => {
      const typeset = math.querySelector("mjx-container:not(:has(mjx-merror))");
      return !typeset || (math.checkVisibility() && !shown(typeset));
    };
    const found = all(".math").filter(wrong).map((math) => `formula not typeset: ${name(math)}`);
    const rest = document.body.cloneNode(true);
    all("pre, code, script, style, svg, mjx-container", rest).forEach((part) => part.remove());
    const tex = /.{0,30}(\\[a-zA-Z]{2,}|\\[()[\]]|\$\$|\$[^$\s][^$\n]*\$).{0,30}/g;
    const raw = `${document.title}\n${rest.textContent}`.matchAll(tex);
    return [...found, ...[...raw].map(([text]) => `raw TeX: ${text}`)];
  };

  // A living figure stands in the place of a picture, which is shown on paper.
  const pictures = () =>
    all("article :is(img, svg[role]):not(living-figure[ready] > .drawn *)").flatMap((picture) => {
      const label = picture.getAttribute("alt") ?? picture.getAttribute("aria-label") ?? "";
      const caption = picture.closest("figure")?.querySelector("figcaption")?.textContent ?? "";
      const found = [];
      if (picture.naturalWidth === 0 || !shown(picture)) found.push("not seen");
      if (label.trim().split(/\s+/).length < 4) found.push("without alt text that describes it");
      else if (caption.includes(label)) found.push("with alt text that repeats its caption");
      return found.map((problem) => `picture ${problem}: ${name(picture)}`);
    });

  // What is wider than the text or, unless it scrolls by itself, than the window.
  const widths = () => {
    const { scrollWidth, clientWidth } = document.scrollingElement;
    const end = box(document.querySelector("article") ?? document.body).right + 1;
    const found = all("article :is(img, figure)").filter((figure) => box(figure).right > end).map(name);
    if (scrollWidth > clientWidth) found.push(`the page, ${scrollWidth} px`);
    return found.map((what) => `too wide at ${clientWidth} px: ${what}`);
  };

  // Axe does not hear formulas and takes most of its time for them and for the words of code: two letters stand for
  // each formula, and the first pieces of code for all.
  const simplify = () => {
    all("mjx-container").forEach((formula) => formula.replaceWith("xy"));
    for (const code of ["pre", ".sig"]) {
      all(code).slice(3).forEach((piece) => (piece.textContent = piece.textContent));
    }
  };

  // Colours depend on the kind of an element and of those around it: two of each kind keep their text. For all of them
  // axe takes three times as long.
  const thin = () => {
    const state = ["class", "style", "aria-pressed", "aria-current"];
    const look = (element) => {
      const values = state.map((name) => element.getAttribute(name));
      return [element.localName, ...values, element.matches("tr:nth-child(odd)")].join(); // tables have stripes
    };
    const kind = (element, levels = 4) =>
      levels && element !== document.body ? kind(element.parentElement, levels - 1) + look(element) : "";
    const seen = new Map();
    for (const element of all("*", document.body)) {
      const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
      if (!texts.some(({ data }) => data.trim())) continue;
      const own = kind(element);
      const times = (seen.get(own) ?? 0) + 1;
      seen.set(own, times);
      if (times > 2) texts.forEach((text) => (text.data = ""));
    }
  };

  return { folds, formulas, pictures, widths, simplify, thin }[check]();
};
