// The order of three recommenders on expected sampled metrics, as the sample grows. The figure is given the metrics:
// { "A, B, C": { m: [...], values: { AP: { A: [...], ... } } }, ... }.
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
    const names = Object.keys(curves);
    const { now, right, verdict, chart } = living.orders({ m: sizes, values: curves }, m, {
      label: `Expected ${metric} of ${names.join(", ")} against the number of sampled items`,
      x: { label: "sampled items m (drag)", from: 1, to: all, log: true, end: `all ${living.whole(all)}` },
      y: { label: `expected ${metric}`, from: 0, to: 1 },
    });
    const listed = (i) => names.map((name) => `${name} ${living.fixed(curves[name].at(i))}`).join(", ");
    return {
      charts: [chart],
      words:
        `<strong>${living.whole(m)} sampled: ${now}, ${verdict}. All ${living.whole(all)}: ${right}.</strong> ` +
        `<span>Expected ${metric} with m = ${living.whole(m)}: ${listed(sizes.indexOf(m))}. Exact: ${listed(-1)}.</span>`,
    };
  },
};
