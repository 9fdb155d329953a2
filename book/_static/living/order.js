// The order of A, B and C of the paper's section 3.2, on expected sampled metrics, as the sample grows.
(() => {
  const n = 10000;
  const ranks = { A: [100, 100, 100, 100, 100], B: [40, 40, 8437, 9266, 4482], C: [212, 2, 743, 5342, 1548] };
  const means = (metric, m) =>
    Object.fromEntries(
      Object.entries(ranks).map(([name, all]) => [
        name,
        living.sum(all.length, (i) => living.expected(metric, all[i], n, m)) / all.length,
      ]),
    );
  const curve = living.spaced(1, n - 1, 16);
  const curves = {};   // by metric, computed when it is first asked for

  living.figures.order = {
    controls: {
      metric: living.choice("metric", Object.keys(living.metrics)),
      m: living.slider("sampled items m", living.spaced(1, n - 1), 100),
    },
    values({ metric, m }) {
      curves[metric] ??= curve.map((samples) => means(metric, samples));
      return { sampled: means(metric, m), exact: means(metric, n - 1), curves: curves[metric] };
    },
    show({ metric, m }, { sampled, exact, curves }) {
      const names = Object.keys(ranks);
      const listed = (values) => names.map((name) => `${name} ${living.fixed(values[name])}`).join(", ");
      const [now, right] = [living.ordered(sampled), living.ordered(exact)];
      return {
        charts: [
          living.chart({
            label: `Expected ${metric} of A, B and C against the number of sampled items`,
            x: { label: "sampled items m", from: 1, to: n - 1, log: true },
            y: { label: `expected ${metric}`, from: 0, to: 1 },
            lines: names.map((name, i) => {
              return { look: "abc"[i], name, points: curve.map((at, k) => [at, curves[k][name]]) };
            }),
            dots: names.map((name, i) => ({ look: "abc"[i], at: [m, sampled[name]] })),
            cursor: m,
          }),
        ],
        words:
          `With m = ${living.whole(m)} sampled items the expected ${metric} is ${listed(sampled)}: ${now}. ` +
          `Exactly it is ${listed(exact)}: ${right}. ` +
          (now === right ? "The order is right." : "The sampled order is wrong."),
      };
    },
  };
})();
