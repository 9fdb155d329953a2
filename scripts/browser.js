// What scripts/browser.py asks of a page. It is loaded into every page, before the page's own scripts.

// What would fade or slide is there at once.
addEventListener("DOMContentLoaded", () => {
  const style = document.head.appendChild(document.createElement("style"));
  style.textContent = "* { transition: none !important; animation: none !important }";
});

window.reader = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Enough to find an element in the page: figure#fig-one "Figure 1. What it shows."
  const name = (element) => {
    const mark = element.id ? `#${element.id}` : element.classList.length ? `.${element.classList[0]}` : "";
    const text = element.getAttribute("alt") || element.textContent || element.getAttribute("src") || "";
    return `${element.localName}${mark} "${text.trim().replace(/\s+/g, " ").slice(0, 60)}"`;
  };

  const visible = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && visible(element);
  };

  // Whether one of the elements can be read: in the window, and nothing over it.
  const seen = (selector) =>
    all(selector).some((element) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      return shown(element) && element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    });

  // The text of an element that is not a part of another one in it.
  const text = (element) =>
    [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("");

  // Resolves when the page has taken notice of a change.
  const still = async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  };

  // Resolves when nothing more is to come: fonts and images there.
  const settled = async () => {
    await document.fonts.ready;
    for (const image of document.images) {
      image.loading = "eager";
      await image.decode().catch(() => {});   // a missing image is for the checks to name
    }
    await still();
  };

  const formulas = () => {
    const found = [];
    for (const math of all(".math")) {
      const typeset = math.querySelector("mjx-container");
      if (!typeset) found.push(`formula not rendered: ${name(math)}`);
      else if (visible(math) && !shown(typeset)) found.push(`formula not visible: ${name(math)}`);
    }
    for (const formula of all("mjx-container")) {
      const scrolls = formula.hasAttribute("display") && formula.scrollWidth > formula.clientWidth;
      if (formula.tabIndex === 0 && !scrolls) {
        found.push(`formula that stops the Tab key: ${name(formula.parentElement)}`);
      }
      // What is read aloud holds no TeX, except for a command that MathJax does not know.
      if (formula.querySelector("mjx-merror") || formula.textContent.includes("\\")) {
        found.push(`formula with an error: ${name(formula.parentElement)}`);
      }
    }
    const tex = /\\[a-zA-Z]{2,}|\\[()[\]]|\$\$|\$[^$\s][^$]*\$/;
    const verbatim = "mjx-container *, svg *, :is(code, pre, kbd, samp), :is(code, pre) *";
    for (const element of all(`body :not(${verbatim}, script, style)`)) {
      if (tex.test(text(element)) && shown(element)) found.push(`raw TeX: ${name(element)}`);
    }
    if (tex.test(document.title)) found.push(`raw TeX in the title: ${document.title}`);
    return found;
  };

  // A living figure stands in the place of a picture, which is shown on paper.
  const pictures = () =>
    all("article :is(img, object, canvas), article svg:not(:is(svg, button, summary) svg, [aria-hidden=true])")
      .filter((picture) => !picture.closest("living-figure[ready] > .drawn"));

  const figures = () =>
    pictures().flatMap((picture) => {
      const article = picture.closest("article");
      const style = getComputedStyle(article);
      const column = article.getBoundingClientRect();
      const box = picture.getBoundingClientRect();
      const label = picture.getAttribute("alt") ?? picture.getAttribute("aria-label") ?? "";
      const caption = picture.closest("figure")?.querySelector("figcaption")?.textContent ?? "";
      const found = [];
      if (picture.naturalWidth === 0) found.push("is not loaded");
      if (!shown(picture)) found.push("is not visible");
      if (box.left < column.left + parseFloat(style.paddingLeft) - 1 ||
          box.right > column.right - parseFloat(style.paddingRight) + 1) {
        found.push("is wider than the text");
      }
      if (label.trim().split(/\s+/).length < 4) {
        found.push("has no alt text that describes it");
      } else if (caption.includes(label)) {
        found.push("has alt text that repeats its caption");
      }
      return found.map((problem) => `${name(picture)} ${problem}`);
    });

  // Bring a picture to the middle of the window, without the frame that a theme may give it; its place.
  const centre = (picture) => {
    picture.style.padding = 0;
    picture.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = picture.getBoundingClientRect();
    return { x, y, width, height };
  };

  const scrolling = () => {
    const { scrollWidth, clientWidth } = document.scrollingElement;
    if (scrollWidth <= clientWidth) return [];
    const scrolls = (element) =>
      element && (getComputedStyle(element).overflowX !== "visible" || scrolls(element.parentElement));
    const reach = (element) => {
      const { left, right } = element.getBoundingClientRect();
      return Math.max(right, left + element.scrollWidth);
    };
    const wide = all("body *").filter((e) => reach(e) > clientWidth && shown(e) && !scrolls(e));
    const innermost = wide.filter((e) => !wide.some((other) => other !== e && e.contains(other)));
    const names = innermost.slice(0, 5).map(name).join(", ");
    return [`the page is ${scrollWidth} px wide in a window of ${clientWidth}: ${names}`];
  };

  const ground = () => getComputedStyle(document.body).backgroundColor;

  // The first visible element of each kind, that is of all that differ in nothing but their text and place.
  const kinds = (elements) => {
    const known = new Map();
    const kind = (element) => {
      if (!element) return "";
      if (!known.has(element)) {
        const classes = String(element.className).replace(/\brun-\d+/, "run");  // cells that run are numbered
        const own = `${element.localName} ${classes} ${element.getAttribute("style")}`;
        known.set(element, `${own} < ${kind(element.parentElement)}`);
      }
      return known.get(element);
    };
    return [...new Map(elements.filter(shown).reverse().map((element) => [kind(element), element])).values()];
  };

  const FOLDS = "article :is(details, .dropdown)";
  const button = (fold) => fold.querySelector("summary, button");

  const reached = (fold) => button(fold)?.tabIndex >= 0;

  // The first of each sort of what is folded, wherever it stands, but not within what is folded itself.
  const folds = () => {
    const sorts = all(FOLDS).filter((fold) => shown(fold) && reached(fold)).reverse().map((fold) => [`${fold.localName} ${button(fold).className}`, fold]);
    return [...new Map(sorts).values()];
  };

  // Open all that is still folded, from the outside in: what neither Tab reaches nor a click opens.
  const folded = () =>
    all(FOLDS).flatMap((fold) => {
      if (!reached(fold)) return [`Tab does not reach the button of ${name(fold)}`];
      if (fold.open ?? !fold.classList.contains("toggle-hidden")) return [];
      const height = fold.offsetHeight;
      button(fold).click();
      return fold.offsetHeight === height ? [`a click does not open ${name(fold)}`] : [];
    });

  // Make a page ready for axe-core, with all that it says and how it looks to it. It does not hear formulas: two letters
  // stand for each, in its place, size and colour. Of the words of code one of each kind is kept, which saves most of
  // the time. Shadows at the edges of what scrolls go, because it says nothing of text on a gradient.
  const simplify = () => {
    const sizes = all("mjx-container").map((formula) => [formula, formula.firstElementChild.getBoundingClientRect()]);
    for (const [formula, { width, height }] of sizes) {
      const place = `display: inline-block; overflow: hidden; vertical-align: top; width: ${width}px; height: ${height}px`;
      formula.innerHTML = `<span style="${place}">xy</span>`;
    }
    const words = all(":is(pre, code, .sig) span");
    const first = new Set(kinds(words));
    words.filter((word) => !first.has(word)).forEach((word) => word.replaceWith(...word.childNodes));
    const style = document.head.appendChild(document.createElement("style"));
    style.textContent = "* { background-image: none !important }";
  };

  // What axe-core finds. The contrast is measured once for each kind of text. Only colours depend on the theme: the dark
  // one is asked for nothing else. Two useful rules have to be asked for.
  const accessibility = async () => {
    const texts = kinds(all("body *").filter((element) => text(element).trim()));
    all("[data-kind]").forEach((element) => element.removeAttribute("data-kind"));
    texts.forEach((element) => element.setAttribute("data-kind", ""));
    axe.configure({ rules: [{ id: "color-contrast", selector: "[data-kind]" }] });
    const { violations } = await axe.run({
      ...(matchMedia("(prefers-color-scheme: dark)").matches
        ? { runOnly: ["color-contrast", "link-in-text-block"] }
        : { rules: { "duplicate-id": { enabled: true }, "label-content-name-mismatch": { enabled: true } } }),
      resultTypes: ["violations"],
      elementRef: true,
      selectors: false,
      preload: false,
    });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${name(node.element)}`));
  };

  // One of each kind of the stops of the Tab key that show no focus, neither on them nor about them.
  const focus = () => {
    const look = (element) =>
      [element.parentElement, element, ...element.children].flatMap((part) =>
        [null, "::before", "::after"].map((pseudo) => {
          const { outline, outlineStyle, boxShadow, strokeWidth } = getComputedStyle(part, pseudo);
          return [outlineStyle !== "none" && outline, boxShadow, strokeWidth].join();
        }),
      ).join();
    const stops = kinds(all("a[href], button, input, summary, [tabindex='0']"));
    return stops
      .filter((stop) => {
        document.activeElement.blur();
        const before = look(stop);
        stop.focus({ preventScroll: true });
        return document.activeElement === stop && look(stop) === before;
      })
      .map((stop) => `no focus to be seen on ${name(stop)}`);
  };

  return {
    all, name, shown, seen, settled, still, formulas, pictures, figures, centre, scrolling, ground,
    folds, folded, simplify, accessibility, focus,
  };
})();
