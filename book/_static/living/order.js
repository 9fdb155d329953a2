// The order of three recommenders on expected sampled metrics, as the sample grows: A, B and C of the paper's section
// 3.2, whose metrics are computed here, and X, Y and Z on MovieLens-1M, of which they are given at some sizes.
(() => {
  const n = 10000;
  const ranks = { A: [100, 100, 100, 100, 100], B: [40, 40, 8437, 9266, 4482], C: [212, 2, 743, 5342, 1548] };
  const [made, real] = ["A, B, C", "X, Y, Z on MovieLens-1M"];
  const map = (names, value) => Object.fromEntries(names.map((name) => [name, value(name)]));
  const toy = (metric) => (m) =>
    map(Object.keys(ranks), (name) => {
      const all = ranks[name];
      return living.sum(all.length, (i) => living.expected(metric, all[i], n, m)) / all.length;
    });
  // Between two sizes that are given, on a straight line over the logarithm.
  const given = ({ m: sizes, values }, metric) => (m) => {
    const after = Math.max(1, sizes.findIndex((size) => size >= m));
    const share = Math.log(m / sizes[after - 1]) / Math.log(sizes[after] / sizes[after - 1]);
    return map(Object.keys(values[metric]), (name) => {
      const [low, high] = values[metric][name].slice(after - 1, after + 1);
      return low + share * (high - low);
    });
  };
  const known = {};   // by recommenders and metric: the curves and the parts of the axis with one order each

  const along = (at, sizes) => {
    const points = sizes.map((m) => [m, at(m)]);
    const exact = living.ordered(points.at(-1)[1]);
    const bands = [];
    for (const [m, values] of points) {
      const order = living.ordered(values);
      if (bands.at(-1)?.order !== order) {
        bands.push({ from: bands.length ? Math.sqrt(m * bands.at(-1).to) : m, order, right: order === exact });
        if (bands.length > 1) bands.at(-2).to = bands.at(-1).from;
      }
      bands.at(-1).to = m;
    }
    return { points, bands };
  };

  living.figures.order = {
    controls: {
      recommenders: living.choice("recommenders", [made, real]),
      metric: living.choice("metric", Object.keys(living.metrics)),
      m: living.slider("sampled items m", ({ recommenders }) => living.spaced(1, recommenders === real ? 3686 : n - 1), 100),
    },
    handle: "m",
    values({ recommenders, metric, m }, data) {
      const at = recommenders === real ? given(data, metric) : toy(metric);
      const sizes = recommenders === real ? data.m : living.spaced(1, n - 1);
      const curves = (known[recommenders + metric] ??= along(at, sizes));
      return { sampled: at(m), exact: at(sizes.at(-1)), all: sizes.at(-1), ...curves };
    },
    show({ metric, m }, { sampled, exact, all, points, bands }) {
      const names = Object.keys(sampled);
      const look = (name) => "abc"[names.indexOf(name)];
      const said = (order) => order.replace(/[A-Z]/g, (name) => `<b class="${look(name)}">${name}</b>`);
      const listed = (values) => names.map((name) => `${name} ${living.fixed(values[name])}`).join(", ");
      const [now, right] = [living.ordered(sampled), living.ordered(exact)];
      const verdict = now === right ? '<b class="right">right</b>' : '<b class="wrong">wrong</b>';
      return {
        charts: [
          living.chart({
            label: `Expected ${metric} of ${names.join(", ")} against the number of sampled items`,
            x: { label: "sampled items m (drag)", from: 1, to: all, log: true, end: `all ${living.whole(all)}` },
            y: { label: `expected ${metric}`, from: 0, to: 1 },
            lines: names.map((name) => ({ look: look(name), name, points: points.map(([m, at]) => [m, at[name]]) })),
            dots: names.map((name) => ({ look: look(name), at: [m, sampled[name]] })),
            bands: bands.map((band) => ({
              ...band,
              order: [...band.order.replace(/\W/g, "")].map((name) => ({ look: look(name), name })),
            })),
            cursor: m,
          }),
        ],
        words:
          `<strong>${living.whole(m)} sampled: ${said(now)}, ${verdict}. All ${living.whole(all)}: ${said(right)}.` +
          `</strong> <span>Expected ${metric} with m = ${living.whole(m)}: ${listed(sampled)}. ` +
          `Exact: ${listed(exact)}.</span>`,
      };
    },
  };
})();
