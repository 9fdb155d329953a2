// A figure that answers to the reader's hand: <living-figure name="..."> around the picture that stands in its place
// without scripts and on paper. What it shows is one of living.figures, an object with
//
//   controls   what can be changed, by name: slider or choice, below
//   handle     the name of the slider that is the first chart's axis: it lies under it, and the chart can be dragged
//   values     a function of the state (the value of each control) that computes all that is shown
//   show       a function of the state and these values: the charts, and what the figure says in words (HTML)
//
// What a reader has changed stands in the address, ?order.m=500, so that it can be sent to somebody.
// Nothing moves by itself, so there is nothing to stop for readers who want less motion.
(() => {
  // Controls. The stops of a slider may depend on the controls before it: a function of the state.
  living.slider = (label, stops, value, format = living.whole) => ({ kind: "slider", label, stops, value, format });
  living.choice = (label, options, value = options[0]) => ({ kind: "choice", label, options, value });

  // Numbers in words.
  living.whole = (number) => number.toLocaleString("en", { maximumFractionDigits: 6 });
  living.short = (number) => String(+number.toPrecision(2));
  living.fixed = (number, digits = 3) =>
    number
      .toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
      .replace(/^-(0\.?0*)$/, "$1");
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
  const served = location.protocol.startsWith("http");

  class LivingFigure extends HTMLElement {
    connectedCallback() {
      if (this.figure) return;   // moved within the page
      this.figure = living.figures[this.getAttribute("name")];
      this.data = this.dataset.given && JSON.parse(this.dataset.given);
      // What the reader has asked for; what is shown is the nearest that there is.
      const controls = Object.entries(this.figure.controls);
      this.asked = Object.fromEntries(controls.map(([name, { value }]) => [name, value]));
      this.read();
      this.charts = make("div", { className: "charts" });
      this.words = make("output");
      this.words.setAttribute("aria-live", "polite");
      this.controls = controls.map(([name, control]) => ({ name, ...this[control.kind](name, control) }));
      const elements = (under) =>
        this.controls.filter(({ name }) => (name === this.figure.handle) === under).map(({ element }) => element);
      const [above, below] = [false, true].map((under) => make("div", { className: "controls" }, ...elements(under)));
      below.classList.add("axis");
      this.append(make("div", { className: "living" }, above, this.charts, below, this.words));
      this.update();
      this.toggleAttribute("ready", true);   // from here on the living figure is seen instead of the picture
      new ResizeObserver(() => this.draw()).observe(this.charts);
      if (this.figure.handle) this.drag();
    }

    // The state from the address, and into it.
    read() {
      const given = new URLSearchParams(location.search);
      for (const [name, { kind, options }] of Object.entries(this.figure.controls)) {
        const text = given.get(`${this.getAttribute("name")}.${name}`);
        if (text === null) continue;
        if (kind === "choice" && options.includes(text)) this.asked[name] = text;
        if (kind === "slider" && Number(text) > 0) this.asked[name] = Number(text);
      }
    }

    write() {
      if (!served) return;
      const address = new URL(location);
      for (const [name, { value }] of Object.entries(this.figure.controls)) {
        const key = `${this.getAttribute("name")}.${name}`;
        if (this.asked[name] === value) address.searchParams.delete(key);
        else address.searchParams.set(key, this.asked[name]);
      }
      history.replaceState(history.state, "", address);
    }

    change(name, value) {
      this.asked[name] = value;
      this.update();
      this.write();
    }

    update() {
      this.state = { ...this.asked };
      for (const { name, update } of this.controls) this.state[name] = update(this.state);
      this.shown = this.figure.show(this.state, this.figure.values(this.state, this.data));
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
        this.change(handle, nearest(stops, between(stops, Math.min(1, Math.max(0, share)))));
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
    // The place of a stop along a slider is its logarithm, as on the axis.
    slider(name, { label, stops, format }) {
      const input = make("input", { type: "range", min: 0, max: 1, step: "any" });
      const value = make("span", { className: "value", ariaHidden: "true" });
      let [now, chosen] = [[]];
      const update = (state) => {
        now = typeof stops === "function" ? stops(state) : stops;
        chosen = nearest(now, state[name]);
        input.value = Math.log(chosen / now[0]) / Math.log(now.at(-1) / now[0]) || 0;
        input.ariaValueText = value.textContent = format(chosen);
        return chosen;
      };
      input.addEventListener("input", () => this.change(name, nearest(now, between(now, input.value))));
      input.addEventListener("keydown", (event) => {
        const step = STEPS[event.key];
        if (!step) return;
        event.preventDefault();
        const place = Math.min(now.length - 1, Math.max(0, now.indexOf(chosen) + step));
        this.change(name, now[place]);
      });
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
  }

  // Along a slider or an axis with these stops: what lies at a share of the way, and the stop nearest to it.
  const between = (stops, share) => stops[0] * (stops.at(-1) / stops[0]) ** share;
  const nearest = (stops, value) => {
    const distance = stops.map((stop) => Math.abs(Math.log(stop / value)));
    return stops[distance.indexOf(Math.min(...distance))];
  };
  const STEPS = {
    ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity,
  };

  // Charts: SVG as text, as wide as there is room.

  const textAt = (x, y, text, anchor = "start", look = "") =>
    `<text class="${look}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${text}</text>`;

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
    const found = all.filter((tick) => tick >= from * (1 - 1e-9) - 1e-12 && tick <= to * (1 + 1e-9));
    return log && found.length < 3 ? ticks({ from, to }) : found;   // a short part of a logarithmic scale
  };

  // Two axes { label, from, to, log, end: the name of its last tick }, and on them lines { look, name, points }, bars,
  // dots { look, at: [x, y] }, a cursor, which is a vertical line, and bands { from, to, order: [{ look, name }], right }:
  // parts of the axis, with an order from the best on. The looks (a to c, grey, wrong) are in living.css.
  const [LEFT, RIGHT] = [46, 30];
  living.chart = ({ label, x, y, lines = [], bars = [], dots = [], bands = [], cursor }) => (width) => {
    const [top, bottom, height] = [bands.length ? 70 : 46, 40, bands.length ? 285 : 290];
    const right = width - RIGHT;
    const place = ({ from, to, log }, start, end) => {
      const scale = log ? Math.log : (value) => value;
      return (value) => start + ((scale(value) - scale(from)) / (scale(to) - scale(from))) * (end - start);
    };
    const across = place(x, LEFT, right);
    const up = place(y, height - bottom, top);
    const inside = (value) => Math.min(Math.max(value, -1e4), 1e4).toFixed(1);
    const point = ([at, value]) => `${inside(across(at))} ${inside(up(value))}`;
    const path = (points) => `M${points.map(point).join("L")}`;
    // The names of lines stand at their right ends if they are short, none over another; else above the chart.
    const names = (named) => {
      if (named.some(({ name }) => name.length > 2)) {
        let begin = LEFT;
        return named.flatMap(({ look, name }) => {
          const from = begin;
          begin += 41 + 7 * name.length;
          return [`<path class="line ${look}" d="M${from} 30h24"/>`, textAt(from + 29, 34, name)];
        });
      }
      const ends = named.map(({ look, name, points }) => ({ look, name, y: up(points.at(-1)[1]) + 4 }));
      ends.sort((one, other) => one.y - other.y);
      ends.reduce((above, one) => (one.y = Math.max(one.y, above + 14)), -Infinity);
      ends.reduceRight((below, one) => (one.y = Math.min(one.y, below - 14)), height - bottom + 16);
      return ends.map(({ look, name, y }) => textAt(right + 7, y, name, "start", look));
    };
    const parts = bands.flatMap(({ from, to, order, right }) => {
      const [start, end] = [across(from), across(to)];
      const size = `x="${start.toFixed(1)}" width="${(end - start).toFixed(1)}" y="22" height="${height - bottom - 22}"`;
      const letters = order.map(({ look, name }, i) =>
        textAt((start + end) / 2, 35 + 14 * i, name, "middle", look),
      );
      return [`<rect class="band ${right ? "right" : "wrong"}" ${size}/>`, ...(end - start > 12 ? letters : [])];
    });
    parts.push(
      ...ticks(y).flatMap((tick) => [
        `<path class="grid" d="M${LEFT} ${up(tick).toFixed(1)}H${right}"/>`,
        textAt(LEFT - 6, up(tick) + 4, living.whole(tick), "end"),
      ]),
    );
    let free = -Infinity;   // where the next label of the axis may begin
    const full = x.end ? across(x.to) - 3.5 * x.end.length : Infinity;   // and where the last one does
    for (const tick of ticks(x)) {
      const text = living.whole(tick);
      const half = 4 * text.length;
      if (across(tick) - half < free || across(tick) + half > full) continue;
      free = across(tick) + half;
      parts.push(textAt(Math.min(across(tick), width - half), height - bottom + 18, text, "middle"));
    }
    if (x.end) parts.push(textAt(width, height - bottom + 18, x.end, "end"));
    parts.push(textAt(0, 14, y.label), textAt((LEFT + right) / 2, height - 5, x.label, "middle"));
    parts.push(`<path class="axis" d="M${LEFT} ${top}V${height - bottom}H${right}"/>`);
    for (const [at, value] of bars) {
      const half = Math.max(0.5, Math.min(6, 0.4 * (across(at + 1) - across(at))));
      const corner = `M${(across(at) - half).toFixed(1)} ${height - bottom}V${inside(up(value))}`;
      parts.push(`<path class="bar" d="${corner}h${(2 * half).toFixed(1)}V${height - bottom}z"/>`);
    }
    if (cursor) parts.push(`<path class="cursor" d="M${across(cursor).toFixed(1)} ${top}V${height - bottom}"/>`);
    for (const { look, points } of lines) parts.push(`<path class="line ${look}" d="${path(points)}"/>`);
    parts.push(...names(lines.filter(({ name }) => name)));
    for (const { look, at } of dots) {
      parts.push(`<circle class="${look}" r="4.5" cx="${inside(across(at[0]))}" cy="${inside(up(at[1]))}"/>`);
    }
    return `<svg role="img" aria-label="${label}" width="${width}" height="${height}">${parts.join("")}</svg>`;
  };

  // When all scripts of the page are there, in whatever order they have come.
  addEventListener("DOMContentLoaded", () => customElements.define("living-figure", LivingFigure));
})();
