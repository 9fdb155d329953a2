// The bias-variance correction: what gamma trades, and what the correction reads off a sampled rank.
(() => {
  const [n, m, last] = [10000, 100, 20];
  // 1, 0.7, 0.5, 0.3, 0.2, 0.15, 0.1, ... down to 0.001.
  const gammas = [1, 2, 3].flatMap((d) => [10, 7, 5, 3, 2, 1.5].map((x) => +`${x}e-${d}`)).concat(1e-3);
  const weights = new Float64Array(n).fill(1 / n);
  const known = {};   // by metric: the correction at each gamma, and its errors; the laws are those of every metric
  let laws, sums;
  const all = (metric) => {
    laws ??= living.laws(n, m);
    sums ??= living.sums(laws, m, weights);
    const correction = living.correction(metric, n, m, laws);
    const errors = (values) => {
      const means = living.means(laws, values);
      const squares = living.sum(n, (i) => (means[i] - living.metrics[metric](i + 1, n)) ** 2);
      return { values, bias: Math.sqrt(squares / n), std: Math.sqrt(living.variance(means, sums, values, weights)) };
    };
    return new Map(gammas.map((gamma) => [gamma, errors(correction(gamma))]));
  };
  const around = (numbers) => [Math.min(...numbers) / 1.15, Math.max(...numbers) * 1.15];

  living.figures.gamma = {
    controls: {
      metric: living.choice("metric", ["AP", "NDCG@10", "Recall@10"]),
      gamma: living.slider("price of variance γ", gammas.toReversed(), 0.1, living.short),
    },
    values({ metric, gamma }) {
      known[metric] ??= all(metric);
      return { ...known[metric].get(gamma), all: [...known[metric].values()] };
    },
    show({ metric, gamma }, { values, bias, std, all }) {
      const [low, high] = around(all.map((one) => one.bias));
      const [least, most] = around(all.map((one) => one.std));
      // The smallest gammas give values by far larger than all others: they widen the axis once they are chosen.
      const usual = all.filter((_, i) => gammas[i] >= 0.02).map((one) => one.values);
      const seen = [...usual, values].flatMap((one) => [...one.subarray(0, last)]);
      const points = (one) => [...one.subarray(0, last)].map((value, s) => [s + 1, value]);
      return {
        charts: [
          living.chart({
            label: `Standard deviation against root mean square bias of the corrected ${metric}, for every gamma`,
            x: { label: "rms bias", from: low, to: high, log: true },
            y: { label: "standard deviation", from: least, to: most, log: true },
            lines: [{ look: "a", points: all.map((one) => [one.bias, one.std]) }],
            dots: [{ look: "a", at: [bias, std] }],
          }),
          living.chart({
            label: `The corrected ${metric} against the sampled rank`,
            x: { label: "sampled rank", from: 1, to: last },
            y: { label: `corrected ${metric}`, from: Math.min(...seen), to: Math.max(...seen) },
            lines: [
              { look: "a", name: `γ = ${living.short(gamma)}`, points: points(values) },
              { look: "grey", name: "γ = 1", points: points(all[0].values) },
            ],
          }),
        ],
        words:
          `With γ = ${living.short(gamma)} the corrected ${metric} of one user has an rms bias of ` +
          `${living.fixed(bias, 4)} and a standard deviation of ${living.fixed(std, 4)}, averaged over all ranks. ` +
          `It reads ${living.fixed(values[0])} off the sampled rank 1, ${living.fixed(values[1])} off 2 and ` +
          `${living.fixed(values[2])} off 3.`,
      };
    },
  };
})();
