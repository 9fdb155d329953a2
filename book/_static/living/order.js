// The order of three recommenders on expected sampled metrics, as the sample grows. The figure is given the metrics:
// { "A, B, C": { m: [...], values: { AP: { A: [...], ... } } }, ... }.
(() => {
  // "C > A = B", from the largest value on.
  const ordered = (values) => {
    const names = Object.keys(values).sort((a, b) => values[b] - values[a]);
    return names.reduce((said, name, i) => said + (values[names[i - 1]] > values[name] ? " > " : " = ") + name);
  };
  const at = (curves, i) => Object.fromEntries(Object.entries(curves).map(([name, values]) => [name, values[i]]));

  // The parts of the axis with one order each: between two sizes with different ones an order ends half way.
  const bands = (sizes, orders) => {
    const found = [];
    sizes.forEach((m, i) => {
      if (orders[i] === found.at(-1)?.order) return;
      const from = i ? Math.sqrt(m * sizes[i - 1]) : m;
      if (i) found.at(-1).to = from;
      found.push({ from, to: sizes.at(-1), order: orders[i], right: orders[i] === orders.at(-1) });
    });
    return found;
  };

  living.figures.order = {
    controls: (data) => ({
      recommenders: living.choice("recommenders", Object.keys(data)),
      metric: living.choice("metric", Object.keys(Object.values(data)[0].values)),
      m: living.slider("sampled items m", ({ recommenders }) => data[recommenders].m, 100),
    }),
    handle: "m",
    show({ recommenders, metric, m }, data) {
      const { m: sizes, values } = data[recommenders];
      const [curves, all] = [values[metric], sizes.at(-1)];
      const orders = sizes.map((_, i) => ordered(at(curves, i)));
      const [sampled, now, right] = [at(curves, sizes.indexOf(m)), orders[sizes.indexOf(m)], orders.at(-1)];
      const names = Object.keys(curves);
      const look = (name) => "abc"[names.indexOf(name)];
      const said = (order) => order.replace(/[A-Z]/g, (name) => `<b class="${look(name)}">${name}</b>`);
      const listed = (values) => names.map((name) => `${name} ${living.fixed(values[name])}`).join(", ");
      const verdict = now === right ? '<b class="right">right</b>' : '<b class="wrong">wrong</b>';
      return {
        charts: [
          living.chart({
            label: `Expected ${metric} of ${names.join(", ")} against the number of sampled items`,
            x: { label: "sampled items m (drag)", from: 1, to: all, log: true, end: `all ${living.whole(all)}` },
            y: { label: `expected ${metric}`, from: 0, to: 1 },
            lines: names.map((name) => ({ look: look(name), name, points: sizes.map((m, i) => [m, curves[name][i]]) })),
            dots: names.map((name) => ({ look: look(name), at: [m, sampled[name]] })),
            bands: bands(sizes, orders).map((band) => ({
              ...band,
              order: [...band.order.replace(/\W/g, "")].map((name) => ({ look: look(name), name })),
            })),
            cursor: m,
          }),
        ],
        words:
          `<strong>${living.whole(m)} sampled: ${said(now)}, ${verdict}. All ${living.whole(all)}: ${said(right)}.` +
          `</strong> <span>Expected ${metric} with m = ${living.whole(m)}: ${listed(sampled)}. ` +
          `Exact: ${listed(at(curves, sizes.length - 1))}.</span>`,
      };
    },
  };
})();
