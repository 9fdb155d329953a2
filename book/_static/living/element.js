// A figure that answers to the reader's hand: <living-figure name="..."> around the picture that stands in its place
// without scripts and on paper. What it shows is one of living.figures, an object with
//
//   controls   what can be changed, by name: slider, choice or items, below
//   values     a function of the state (the value of each control) that computes all that is shown
//   show       a function of the state and these values: the charts, and what the figure says in words
//
// Nothing moves by itself, so there is nothing to stop for readers who want less motion.
(() => {
  // Controls. The stops of a slider may depend on the controls before it: a function of the state.
  living.slider = (label, stops, value, format = living.whole) => ({ kind: "slider", label, stops, value, format });
  living.choice = (label, options, value = options[0]) => ({ kind: "choice", label, options, value });
  living.items = (label, count, value) => ({ kind: "items", label, count, value });

  // Numbers in words.
  living.whole = (number) => number.toLocaleString("en", { maximumFractionDigits: 6 });
  living.short = (number) => String(+number.toPrecision(2));
  living.fixed = (number, digits = 3) => number.toFixed(digits).replace(/^-(0\.?0*)$/, "$1");
  // "C > A = B", from the largest value on.
  living.ordered = (values) => {
    const names = Object.keys(values).sort((a, b) => values[b] - values[a]);
    const signs = names.slice(1).map((name, i) => (values[names[i]] - values[name] > 1e-12 ? " > " : " = ") + name);
    return names[0] + signs.join("");
  };

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  class LivingFigure extends HTMLElement {
    connectedCallback() {
      if (this.figure) return;   // moved within the page
      this.figure = living.figures[this.getAttribute("name")];
      this.data = this.dataset.given && JSON.parse(this.dataset.given);
      // What the reader has asked for; what is shown is the nearest that there is.
      const controls = Object.entries(this.figure.controls);
      this.asked = Object.fromEntries(controls.map(([name, { value }]) => [name, value]));
      this.charts = make("div", { className: "charts" });
      this.words = make("output");
      this.words.setAttribute("aria-live", "polite");
      this.controls = controls.map(([name, control]) => ({ name, ...this[control.kind](name, control) }));
      const above = make("div", { className: "controls" }, ...this.controls.map(({ element }) => element));
      this.append(make("div", { className: "living" }, above, this.charts, this.words));
      this.update();
      this.toggleAttribute("ready", true);   // from here on the living figure is seen instead of the picture
      new ResizeObserver(() => this.draw()).observe(this.charts);
    }

    change(name, value) {
      this.asked[name] = value;
      this.update();
    }

    update() {
      this.state = { ...this.asked };
      for (const { name, update } of this.controls) this.state[name] = update(this.state);
      this.shown = this.figure.show(this.state, this.figure.values(this.state, this.data));
      this.words.textContent = this.shown.words;
      this.width = 0;
      this.draw();
    }

    draw() {
      const width = this.charts.clientWidth;
      if (!width || width === this.width) return;
      this.width = width;
      const beside = width < 560 ? 1 : this.shown.charts.length;
      const each = Math.floor(width / beside) - 8 * (beside - 1);   // less half of the gap between two
      this.charts.innerHTML = this.shown.charts.map((chart) => chart(each)).join("");
    }

    // Each kind of control: its element, and a function that brings it up to date with a state and returns its value.
    slider(name, { label, stops, format }) {
      const input = make("input", { type: "range", min: 0, step: 1 });
      const value = make("span", { className: "value", ariaHidden: "true" });
      let now;
      const update = (state) => {
        now = typeof stops === "function" ? stops(state) : stops;
        const distance = now.map((stop) => Math.abs(Math.log(stop / state[name])));
        input.max = now.length - 1;
        input.value = distance.indexOf(Math.min(...distance));
        const chosen = now[input.value];
        input.ariaValueText = value.textContent = format(chosen);
        return chosen;
      };
      input.addEventListener("input", () => this.change(name, now[input.value]));
      return { element: make("div", {}, make("label", {}, make("span", {}, label), input), value), update };
    }

    choice(name, { label, options }) {
      const select = make("select", {}, ...options.map((option) => make("option", {}, option)));
      select.addEventListener("change", () => this.change(name, select.value));
      const update = (state) => (select.value = state[name]);
      return { element: make("div", {}, make("label", {}, make("span", {}, label), select)), update };
    }

    items(name, { label, count }) {
      const buttons = Array.from({ length: count }, (_, i) => {
        const button = make("button", { type: "button", ariaLabel: `item ${i + 1}` }, String(i + 1));
        button.addEventListener("click", () => {
          const chosen = new Set(this.asked[name]);
          if (!chosen.delete(i + 1)) chosen.add(i + 1);
          this.change(name, [...chosen].sort((a, b) => a - b));
        });
        return button;
      });
      const update = (state) => {
        buttons.forEach((button, i) => (button.ariaPressed = String(state[name].includes(i + 1))));
        return state[name];
      };
      const group = { className: "items", role: "group", ariaLabel: label };
      return { element: make("div", group, make("span", {}, label), ...buttons), update };
    }
  }

  // Charts: SVG as text, as wide as there is room.

  living.svg = (width, height, label, parts) =>
    `<svg role="img" aria-label="${label}" width="${width}" height="${height}">${parts.join("")}</svg>`;

  living.text = (x, y, text, anchor = "start") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${text}</text>`;

  // The ticks of an axis from one value to another.
  const ticks = ({ from, to, log }) => {
    const all = [];
    if (log) {
      const digits = to / from < 10 ? [1, 1.5, 2, 3, 5, 7] : to / from < 300 ? [1, 2, 5] : [1];
      for (let power = Math.floor(Math.log10(from)); 10 ** power <= to * 1.001; power++) {
        all.push(...digits.map((digit) => +`${digit}e${power}`));
      }
    } else {
      const size = 10 ** Math.floor(Math.log10((to - from) / 2));
      const step = size * [1, 2, 5].findLast((s) => (to - from) / (s * size) >= 4 || s === 1);
      for (let i = Math.ceil(from / step - 1e-9); i * step <= to + 1e-9 * step; i++) {
        all.push(+(i * step).toPrecision(12));
      }
    }
    return all.filter((tick) => tick >= from * (1 - 1e-9) - 1e-12 && tick <= to * (1 + 1e-9));
  };

  // Two axes { label, from, to, log }, and on them lines { look, name, points }, bars, dots { look, at: [x, y] } and a
  // cursor, which is a vertical line. The looks (a to c, grey) are in living.css.
  living.chart = ({ label, x, y, lines = [], bars = [], dots = [], cursor }) => (width) => {
    const [left, right, top, bottom, height] = [46, 12, 46, 40, 290];
    const place = ({ from, to, log }, start, end) => {
      const scale = log ? Math.log : (value) => value;
      return (value) => start + ((scale(value) - scale(from)) / (scale(to) - scale(from))) * (end - start);
    };
    const across = place(x, left, width - right);
    const up = place(y, height - bottom, top);
    const inside = (value) => Math.min(Math.max(value, -1e4), 1e4).toFixed(1);
    const point = ([at, value]) => `${inside(across(at))} ${inside(up(value))}`;
    const path = (points) => `M${points.map(point).join("L")}`;
    const parts = ticks(y).flatMap((tick) => [
      `<path class="grid" d="M${left} ${up(tick).toFixed(1)}H${width - right}"/>`,
      living.text(left - 6, up(tick) + 4, living.whole(tick), "end"),
    ]);
    let free = -Infinity;   // where the next label of the axis may begin
    for (const tick of ticks(x)) {
      const text = living.whole(tick);
      const half = 4 * text.length;
      if (across(tick) - half < free) continue;
      free = across(tick) + half;
      parts.push(living.text(Math.min(across(tick), width - half), height - bottom + 18, text, "middle"));
    }
    parts.push(living.text(0, 14, y.label), living.text((left + width - right) / 2, height - 5, x.label, "middle"));
    parts.push(`<path class="axis" d="M${left} ${top}V${height - bottom}H${width - right}"/>`);
    for (const [at, value] of bars) {
      const half = Math.max(0.5, Math.min(6, 0.4 * (across(at + 1) - across(at))));
      const corner = `M${(across(at) - half).toFixed(1)} ${height - bottom}V${inside(up(value))}`;
      parts.push(`<path class="bar" d="${corner}h${(2 * half).toFixed(1)}V${height - bottom}z"/>`);
    }
    if (cursor) parts.push(`<path class="cursor" d="M${across(cursor).toFixed(1)} ${top}V${height - bottom}"/>`);
    let begin = left;
    for (const { look, name, points } of lines) {
      parts.push(`<path class="line ${look}" d="${path(points)}"/>`);
      if (!name) continue;
      parts.push(`<path class="line ${look}" d="M${begin} 30h24"/>`, living.text(begin + 29, 34, name));
      begin += 41 + 7 * name.length;
    }
    for (const { look, at } of dots) {
      parts.push(`<circle class="${look}" r="4.5" cx="${inside(across(at[0]))}" cy="${inside(up(at[1]))}"/>`);
    }
    return living.svg(width, height, label, parts);
  };

  // When all scripts of the page are there, in whatever order they have come.
  addEventListener("DOMContentLoaded", () => customElements.define("living-figure", LivingFigure));
})();
