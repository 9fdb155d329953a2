// A figure that answers to the reader's hand: <living-figure name="..."> around the picture that stands in its place
// without scripts and on paper. What it shows is one of living.figures, an object with
//
//   controls   a function of the data that the page gives the figure: what can be changed: slider, choice or buttons
//   handle     the name of the slider that the chart can be dragged for: its stops lie along the chart's axis
//   show       a function of the state (the value of each control) and the data: the charts, and what they say (HTML)
//
// Nothing moves by itself, so there is nothing to stop for readers who want less motion.
window.living = { figures: {} };
(() => {
  // Controls. The stops of a slider may depend on the controls before it: a function of the state.
  living.slider = (label, stops, value, format = living.whole) => ({ kind: "slider", label, stops, value, format });
  living.choice = (label, options, value = options[0]) => ({ kind: "choice", label, options, value });
  // None is pressed at first. Each is a bar: numbers, a function of the state, returns the text above and their values.
  living.buttons = (label, options, numbers) => ({ kind: "buttons", label, options, numbers });

  // Numbers in words.
  living.whole = (number) => number.toLocaleString("en", { maximumFractionDigits: 6 });
  living.fixed = (number, digits = 3) =>
    number
      .toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
      .replace(/^-(0\.?0*)$/, "$1");

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const nearest = (stops, value) => {
    const distance = stops.map((stop) => Math.abs(Math.log(stop / value)));
    return stops[distance.indexOf(Math.min(...distance))];
  };

  class LivingFigure extends HTMLElement {
    connectedCallback() {
      if (this.figure) return;   // moved within the page
      this.figure = living.figures[this.getAttribute("name")];
      this.data = this.dataset.given && JSON.parse(this.dataset.given);
      const controls = Object.entries(this.figure.controls(this.data));
      // What the reader has asked for; what is shown is the nearest that there is.
      this.asked = Object.fromEntries(controls.map(([name, { value }]) => [name, value]));
      this.charts = make("div", { className: "charts" });
      this.words = make("output", { ariaLive: "polite", className: `${this.className}-answer` });
      this.controls = controls.map(([name, control]) => ({ name, ...this[control.kind](name, control) }));
      const row = make("div", { className: "controls" }, ...this.controls.map(({ element }) => element));
      this.append(make("div", { className: "living" }, row, this.words, this.charts));
      this.update();
      this.toggleAttribute("ready", true);   // from here on the living figure is seen instead of the picture
      new ResizeObserver(() => this.draw()).observe(this.charts);
      if (this.figure.handle) this.drag();
    }

    change(name, value) {
      this.asked[name] = value;
      this.update();
    }

    update() {
      const state = { ...this.asked };
      for (const { name, update } of this.controls) state[name] = update(state);
      this.shown = this.figure.show(state, this.data);
      this.words.innerHTML = this.shown.words;
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

    // The chart can be taken by the hand wherever one points at it.
    drag() {
      const { handle } = this.figure;
      const at = (event) => {
        const { left, width } = this.charts.firstElementChild.getBoundingClientRect();
        const share = (event.clientX - left - LEFT) / (width - LEFT - RIGHT);
        const stops = this.controls.find(({ name }) => name === handle).stops();
        this.change(handle, nearest(stops, stops[0] * (stops.at(-1) / stops[0]) ** share));
      };
      this.charts.classList.add("handle");
      this.charts.addEventListener("pointerdown", (event) => {
        if (event.button || !event.target.closest("svg")) return;
        this.charts.setPointerCapture(event.pointerId);
        at(event);
      });
      this.charts.addEventListener("pointermove", (event) => {
        if (this.charts.hasPointerCapture(event.pointerId)) at(event);
      });
    }

    // Each kind of control: its element, and a function that brings it up to date with a state and returns its value.
    slider(name, { label, stops, format }) {
      const input = make("input", { type: "range" });
      const value = make("span", { className: "value", ariaHidden: "true" });
      let now;
      const update = (state) => {
        now = typeof stops === "function" ? stops(state) : stops;
        const chosen = nearest(now, state[name]);
        Object.assign(input, { max: now.length - 1, value: now.indexOf(chosen) });
        input.ariaValueText = value.textContent = format(chosen);
        return chosen;
      };
      input.addEventListener("input", () => this.change(name, now[input.value]));
      const element = make("div", {}, make("label", {}, make("span", {}, label), input), value);
      return { element, update, stops: () => now };
    }

    choice(name, { label, options }) {
      const inputs = options.map((value) => {
        const input = make("input", { type: "radio", name: `${this.getAttribute("name")}-${name}`, value });
        input.addEventListener("change", () => this.change(name, value));
        return input;
      });
      const update = (state) => {
        inputs.forEach((input) => (input.checked = input.value === state[name]));
        return state[name];
      };
      const labels = inputs.map((input) => make("label", {}, input, make("span", {}, input.value)));
      const element = make("div", { className: "choice", role: "radiogroup", ariaLabel: label }, ...labels);
      return { element, update };
    }

    buttons(name, { label, options, numbers }) {
      const what = make("p");
      const buttons = options.map((value, i) => {
        const button = make("button", { type: "button", className: "abc"[i] }, make("b", {}, value), make("span"));
        button.addEventListener("click", () => this.change(name, value));
        return button;
      });
      const update = (state) => {
        const { text, values } = numbers(state);
        what.textContent = text;
        buttons.forEach((button, i) => {
          button.ariaPressed = options[i] === state[name];
          button.lastChild.textContent = living.fixed(values[i]);
          button.style.setProperty("--share", values[i] / Math.max(...values));
        });
        return state[name];
      };
      const element = make("div", { className: "buttons", role: "group", ariaLabel: label }, what, ...buttons);
      return { element, update };
    }
  }

  // Charts: SVG as text, as wide as there is room.

  const textAt = (x, y, text, anchor = "start", look = "") =>
    `<text class="${look}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${text}</text>`;

  // The ticks of an axis from one value to another.
  const ticks = ({ from, to, log }) => {
    const all = [];
    if (log) {
      const digits = to / from < 10 ? [1, 1.5, 2, 3, 5, 7] : to / from < 300 ? [1, 2, 5] : [1];
      for (let power = Math.floor(Math.log10(from)); 10 ** power <= to; power++) {
        all.push(...digits.map((digit) => +`${digit}e${power}`));
      }
    } else {
      const size = 10 ** Math.floor(Math.log10((to - from) / 2));
      const step = size * [1, 2, 5].findLast((s) => (to - from) / (s * size) >= 4 || s === 1);
      for (let i = Math.ceil(from / step); i * step <= to; i++) all.push(+(i * step).toPrecision(12));
    }
    const found = all.filter((tick) => tick >= from && tick <= to);
    return log && found.length < 3 ? ticks({ from, to }) : found;   // a short part of a logarithmic scale
  };

  // Two axes { label, from, to, log, end: the name of its last tick }, and on them lines { look, name, points }, bars,
  // dots { look, at: [x, y] }, a cursor, which is a vertical line, and bands { from, to, order: [{ look, name }], right }:
  // parts of the axis, with an order from the best on. The looks (a to c, grey, wrong) are in living.css.
  const [LEFT, RIGHT] = [46, 30];
  living.chart = ({ label, x, y, lines = [], bars = [], dots = [], bands = [], cursor }) => (width) => {
    const [top, height, foot, right] = [bands.length ? 70 : 30, 285, 245, width - RIGHT];
    const place = ({ from, to, log }, start, end) => {
      const scale = log ? Math.log : (value) => value;
      return (value) => start + ((scale(value) - scale(from)) / (scale(to) - scale(from))) * (end - start);
    };
    const across = place(x, LEFT, right);
    const up = place(y, foot, top);
    const inside = (value) => Math.min(Math.max(value, -1e4), 1e4).toFixed(1);
    const point = ([at, value]) => `${inside(across(at))} ${inside(up(value))}`;
    const parts = [];

    for (const { from, to, order, right } of bands) {
      const [start, end] = [across(from), across(to)];
      const size = `x="${start.toFixed(1)}" width="${(end - start).toFixed(1)}" y="22" height="${foot - 22}"`;
      parts.push(`<rect class="band ${right ? "right" : "wrong"}" ${size}/>`);
      if (end - start > 12) {
        parts.push(...order.map(({ look, name }, i) => textAt((start + end) / 2, 35 + 14 * i, name, "middle", look)));
      }
    }
    for (const tick of ticks(y)) {
      parts.push(`<path class="grid" d="M${LEFT} ${up(tick).toFixed(1)}H${right}"/>`);
      parts.push(textAt(LEFT - 6, up(tick) + 4, living.whole(tick), "end"));
    }
    let free = -Infinity;   // where the next label of the axis may begin
    const full = x.end ? across(x.to) - 3.5 * x.end.length : width;   // and where the last one does
    for (const tick of ticks(x)) {
      const text = living.whole(tick);
      const half = 4 * text.length;
      if (across(tick) - half < free || across(tick) + half > full) continue;
      free = across(tick) + half;
      parts.push(textAt(across(tick), foot + 18, text, "middle"));
    }
    if (x.end) parts.push(textAt(width, foot + 18, x.end, "end"));
    parts.push(textAt(0, 14, y.label), textAt((LEFT + right) / 2, height - 5, x.label, "middle"));
    parts.push(`<path class="axis" d="M${LEFT} ${top}V${foot}H${right}"/>`);
    for (const [at, value] of bars) {
      const half = Math.max(0.5, Math.min(6, 0.4 * (across(at + 1) - across(at))));
      const corner = `M${(across(at) - half).toFixed(1)} ${foot}V${inside(up(value))}`;
      parts.push(`<path class="bar" d="${corner}h${(2 * half).toFixed(1)}V${foot}z"/>`);
    }
    if (cursor) parts.push(`<path class="cursor" d="M${across(cursor).toFixed(1)} ${top}V${foot}"/>`);
    for (const { look, points } of lines) {
      parts.push(`<path class="line ${look}" d="M${points.map(point).join("L")}"/>`);
    }
    // The names of lines stand at their right ends, none over another.
    const named = lines.filter(({ name }) => name).map((line) => ({ ...line, y: up(line.points.at(-1)[1]) + 4 }));
    named.sort((one, other) => one.y - other.y);
    named.reduce((above, one) => (one.y = Math.max(one.y, above + 14)), -Infinity);
    named.reduceRight((below, one) => (one.y = Math.min(one.y, below - 14)), foot + 16);
    parts.push(...named.map(({ look, name, y }) => textAt(right + 7, y, name, "start", look)));
    for (const { look, at } of dots) {
      parts.push(`<circle class="${look}" r="4.5" cx="${inside(across(at[0]))}" cy="${inside(up(at[1]))}"/>`);
    }
    return `<svg role="img" aria-label="${label}" width="${width}" height="${height}">${parts.join("")}</svg>`;
  };

  // Recommenders by a metric as the sample grows, { m: [...], values: { A: [...], ... } }: the orders at one m and at the
  // last, from the best on ("C > A = B"), whether they are the same, and the chart.
  living.orders = ({ m: sizes, values }, m, axes) => {
    const names = Object.keys(values);
    const look = (name) => "abc"[names.indexOf(name)];
    const orders = sizes.map((_, i) => {
      const falling = [...names].sort((a, b) => values[b][i] - values[a][i]);
      const sign = (k) => (values[falling[k - 1]][i] > values[falling[k]][i] ? " > " : " = ");
      return falling.reduce((said, name, k) => said + sign(k) + name);
    });
    const [here, exact] = [orders[sizes.indexOf(m)], orders.at(-1)];
    // The parts of the axis with one order each: between two sizes with different ones an order ends half way.
    const bands = [];
    sizes.forEach((size, i) => {
      if (orders[i] === orders[i - 1]) return;
      const from = i ? Math.sqrt(size * sizes[i - 1]) : size;
      if (i) bands.at(-1).to = from;
      const order = [...orders[i].replace(/\W/g, "")].map((name) => ({ look: look(name), name }));
      bands.push({ from, to: sizes.at(-1), order, right: orders[i] === exact });
    });
    const said = (order) => order.replace(/[A-Z]/g, (name) => `<b class="${look(name)}">${name}</b>`);
    const verdict = here === exact ? '<b class="right">right</b>' : '<b class="wrong">wrong</b>';
    const chart = living.chart({
      ...axes,
      lines: names.map((name) => ({ look: look(name), name, points: sizes.map((size, i) => [size, values[name][i]]) })),
      dots: names.map((name) => ({ look: look(name), at: [m, values[name][sizes.indexOf(m)]] })),
      bands,
      cursor: m,
    });
    return { now: said(here), right: said(exact), verdict, chart };
  };

  // When all scripts of the page are there, in whatever order they have come.
  addEventListener("DOMContentLoaded", () => customElements.define("living-figure", LivingFigure));
})();
