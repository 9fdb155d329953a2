// The chance that a sampled evaluation puts two recommenders in their exact order on Recall@10. Given are the counts of
// users by rank of the worse and the better one: as many users as are asked for, of the same kind, with n items each.
(() => {
  const metric = "Recall@10";
  const sizes = [20, 30, 40, 50, 70, 100, 150];
  const numbers = [100, 200, 300, 600, 1000, 2000, 3000, 6000, 10000, 20000, 30000, 60000, 100000];
  const known = new Map();   // by number of samples: what does not depend on gamma
  const prepared = (n, m, both) => {
    if (!known.has(m)) {
      const laws = living.laws(n, m);
      known.set(m, { laws, sums: living.sums(laws, m, both), correction: living.correction(metric, n, m, laws) });
    }
    return known.get(m);
  };
  const shares = (counts, n) => {
    const total = living.sum(counts.length, (i) => counts[i]);
    return Float64Array.from({ length: n }, (_, i) => (counts[i] ?? 0) / total);
  };

  living.figures.right_order = {
    controls: {
      m: living.slider("sampled items m", sizes, 100),
      users: living.slider("users", numbers, 6000),
      gamma: living.slider("price of variance γ", living.prices(3).toReversed(), 0.1, living.short),
    },
    values({ m, users, gamma }, { names, n, counts }) {
      const [worse, better] = counts.map((one) => shares(one, n));
      const [gain, both] = [better.map((share, i) => share - worse[i]), better.map((share, i) => share + worse[i])];
      const at = (samples) => {
        const { laws, sums, correction } = prepared(n, samples, both);
        const plain = Float64Array.from({ length: samples + 1 }, (_, s) => living.metrics[metric](s + 1, samples + 1));
        // The lead of the better one on average, and the chance that it is above 0 for so many users.
        const [corrected, uncorrected] = [correction(gamma), plain].map((values) => {
          const means = living.means(laws, values);
          const [lead, variance] = [living.product(gain, means), living.variance(means, sums, values, both)];
          return { lead, chance: living.normal(Math.sqrt(users / variance) * lead) };
        });
        return { samples, lead: corrected.lead, corrected: corrected.chance, uncorrected: uncorrected.chance };
      };
      const curve = sizes.map(at);
      const exact = living.sum(n, (i) => gain[i] * living.metrics[metric](i + 1, n));
      return { names, curve, exact, ...curve[sizes.indexOf(m)] };
    },
    show({ m, users, gamma }, { names, curve, exact, lead, corrected, uncorrected }) {
      const line = (look, kind, name) => ({ look, name, points: curve.map((one) => [one.samples, one[kind]]) });
      const points = (share) => `${living.fixed(100 * share, 2)} points`;
      return {
        charts: [
          living.chart({
            label: "Probability of the right order against the number of sampled items, corrected and uncorrected",
            x: { label: "sampled items m", from: sizes[0], to: sizes.at(-1), log: true },
            y: { label: "probability of the right order", from: 0, to: 1 },
            lines: [
              line("a", "corrected", `γ = ${living.short(gamma)}`),
              line("wrong", "uncorrected", "uncorrected"),
              { look: "grey", name: "95 %", points: [[sizes[0], 0.95], [sizes.at(-1), 0.95]] },
            ],
            dots: [{ look: "a", at: [m, corrected] }, { look: "wrong", at: [m, uncorrected] }],
            cursor: m,
          }),
        ],
        words:
          `With m = ${m} sampled items for each of ${living.whole(users)} users and γ = ${living.short(gamma)}, ` +
          `${names[0]} comes out below ${names[1]} with probability ${living.fixed(corrected)}, uncorrected with ` +
          `${living.fixed(uncorrected)}. The exact lead of ` +
          `${names[1]} on ${metric} is ${points(exact)}; corrected it is ${points(lead)} on average.`,
      };
    },
  };
})();
