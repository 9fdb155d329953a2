// The bias-variance correction: what gamma trades, and what the correction reads off a sampled rank. The figure is given
// { gamma: [...], metrics: { AP: [{ bias, std, values: of the first sampled ranks }, ...], ... } }.
(() => {
  const short = (number) => String(+number.toPrecision(2));
  const around = (numbers) => [Math.min(...numbers) / 1.15, Math.max(...numbers) * 1.15];

  living.figures.gamma = {
    controls: ({ gamma, metrics }) => ({
      metric: living.choice("metric", Object.keys(metrics)),
      gamma: living.slider("price of variance γ", gamma, 0.1, short),
    }),
    show({ metric, gamma }, data) {
      const all = data.metrics[metric];
      const { bias, std, values } = all[data.gamma.indexOf(gamma)];
      const [low, high] = around(all.map((one) => one.bias));
      const [least, most] = around(all.map((one) => one.std));
      // The smallest gammas give values by far larger than all others: they widen the axis once they are chosen.
      const usual = all.filter((_, i) => data.gamma[i] >= 0.02).map((one) => one.values);
      const seen = [...usual, values].flat();
      const points = (one) => one.map((value, s) => [s + 1, value]);
      return {
        charts: [
          living.chart({
            label: `Standard deviation against root mean square bias of the corrected ${metric}, for every gamma`,
            x: { label: "rms bias, γ from 0.001 (left) to 1", from: low, to: high, log: true },
            y: { label: "standard deviation", from: least, to: most, log: true },
            lines: [{ look: "a", points: all.map((one) => [one.bias, one.std]) }],
            dots: [{ look: "a", at: [bias, std] }],
          }),
          living.chart({
            label: `The corrected ${metric} against the sampled rank, for gamma ${short(gamma)} and for gamma 1`,
            x: { label: "sampled rank", from: 1, to: values.length },
            y: { label: `corrected ${metric}, dashed with γ = 1`, from: Math.min(...seen), to: Math.max(...seen) },
            lines: [
              { look: "a", points: points(values) },
              { look: "grey", points: points(all.at(-1).values) },
            ],
          }),
        ],
        words:
          `With γ = ${short(gamma)} the corrected ${metric} of one user has an rms bias of ` +
          `${living.fixed(bias, 4)} and a standard deviation of ${living.fixed(std, 4)}, averaged over all ranks. ` +
          `It reads ${living.fixed(values[0])} off the sampled rank 1, ${living.fixed(values[1])} off 2 and ` +
          `${living.fixed(values[2])} off 3.`,
      };
    },
  };
})();
