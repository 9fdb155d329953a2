// What scripts/browser.py asks of a page. It is loaded into every page, before the page's own scripts.

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

  // Where a link leads; in a drawing, a link's own property is no text.
  const target = (link) => new URL(link.getAttribute("href"), document.baseURI).href;

  // The visible pieces of text that are not part of a formula or a drawing.
  const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (walker.currentNode.data.trim() && !parent.closest("mjx-container, svg") && shown(parent)) {
        found.push(walker.currentNode);
      }
    }
    return found;
  };

  // Resolves when the page has taken notice of a change, and what fades or slides has come to rest.
  const still = async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    const ends = (animation) => animation.effect.getComputedTiming().endTime < Infinity;
    const moving = document.getAnimations().filter(ends);
    await Promise.allSettled(moving.map((animation) => animation.finished));
  };

  // Resolves when nothing more is to come: formulas typeset, fonts and images there.
  const settled = async () => {
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
    for (const image of document.images) {
      image.loading = "eager";
      await image.decode().catch(() => {});   // a missing image is for the checks to name
    }
    await still();
  };

  // Open whatever is folded, as a reader may.
  const unfold = async () => {
    for (const details of all("details")) details.open = true;
    for (const button of all("article button[aria-expanded=false]")) button.click();
    await still();
  };

  // As if the reader had come so far with the Tab key.
  const standBefore = (element) => {
    const place = document.createElement("span");
    place.tabIndex = -1;
    element.before(place);
    place.focus({ preventScroll: true });
    place.remove();
  };

  const formulas = () => {
    const found = [];
    for (const math of all(".math")) {
      const typeset = math.querySelector("mjx-container");
      if (!typeset) found.push(`formula not rendered: ${name(math)}`);
      else if (visible(math) && !shown(typeset)) found.push(`formula not visible: ${name(math)}`);
    }
    for (const formula of all("mjx-container")) {
      // What is read aloud holds no TeX, except for a command that MathJax does not know.
      if (formula.querySelector("mjx-merror") || formula.textContent.includes("\\")) {
        found.push(`formula with an error: ${name(formula.parentElement)}`);
      }
    }
    const tex = /\\[a-zA-Z]{2,}|\\[()[\]]|\$\$|\$[^$\s][^$]*\$/;
    for (const text of texts()) {
      const parent = text.parentElement;
      if (!parent.closest("code, pre, kbd, samp") && tex.test(text.data)) {
        found.push(`raw TeX: ${name(parent)}`);
      }
    }
    if (tex.test(document.title)) found.push(`raw TeX in the title: ${document.title}`);
    return found;
  };

  const pictures = () => all("article :is(img, object, canvas), article svg:not(:is(svg, button, summary) svg, [aria-hidden=true])");

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
      if (label.includes("_images/") || /\.(png|svg|jpe?g|gif|webp)$/i.test(label)) {
        found.push("has the name of a file as alt text");
      } else if (label.trim().split(/\s+/).length < 4) {
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
    const right = (text) => {
      const range = document.createRange();
      range.selectNode(text);
      return range.getBoundingClientRect().right;
    };
    const wide = [
      ...texts().filter((text) => right(text) > clientWidth).map((text) => text.parentElement),
      ...all("body *").filter((e) => e.getBoundingClientRect().right > clientWidth && shown(e)),
    ].filter((element) => !scrolls(element));
    const innermost = wide.filter((e) => !wide.some((other) => other !== e && e.contains(other)));
    const names = [...new Set(innermost)].slice(0, 5).map(name).join(", ");
    return [`the page is ${scrollWidth} px wide in a window of ${clientWidth}: ${names}`];
  };

  // Any CSS colour as red, green, blue (0 to 255) and opacity.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, opacity] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [red, green, blue, opacity / 255]);
    }
    return known.get(colour);
  };

  const over = (top, below) => below.map((value, i) => top[3] * top[i] + (1 - top[3]) * value);

  // What an element stands on: the backgrounds of all that it is in, down to the first opaque one.
  const background = (element) => {
    if (!element) return [255, 255, 255];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, background(element.parentElement));
  };

  const opacity = (element) =>
    element ? getComputedStyle(element).opacity * opacity(element.parentElement) : 1;

  const luminance = (colour) => {
    const [red, green, blue] = colour.map((value) =>
      value <= 0.04045 * 255 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };

  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };

  // The Web Content Accessibility Guidelines (1.4.3, level AA) ask for 4.5, and for 3 where the text is large.
  // They make no exception for the colours of code, which is read like any other text.
  const contrast = () => {
    const wantsDark = matchMedia("(prefers-color-scheme: dark)").matches;
    if (wantsDark && luminance(background(document.body)) > 0.2) return ["the page stays light"];
    const found = new Map();
    const elements = new Set(texts().map((text) => text.parentElement));
    for (const element of [...elements, ...all("mjx-container").filter(shown)]) {
      const { color, fontSize, fontWeight } = getComputedStyle(element);
      const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
      const ground = background(element);
      const ink = rgba(color);
      const value = ratio(over([...ink.slice(0, 3), ink[3] * opacity(element)], ground), ground);
      if (value < (large ? 3 : 4.5)) {
        const kind = `${color} on rgb(${ground.map(Math.round).join(", ")})`;
        if (!found.has(kind)) found.set(kind, `contrast ${value.toFixed(2)} (${kind}): ${name(element)}`);
      }
    }
    return [...found.values()];
  };

  return {
    all, name, shown, target, settled, still, unfold, standBefore, formulas, pictures, figures, centre, scrolling, contrast,
  };
})();
