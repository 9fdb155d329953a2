// The law of the sampled rank of one relevant item. tests/tools/test_living.py compares it with the package.
(() => {
  const ways = ["without replacement", "with replacement"];
  const sizes = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
  // Whole numbers from 1 to the last, in even steps on a logarithmic scale.
  const spaced = (last) => {
    const steps = Array.from({ length: Math.ceil(40 * Math.log10(last)) }, (_, i) => Math.round(10 ** (i / 40)));
    return [...new Set([...steps, last])];
  };

  // The probability that s = 0, ..., m of m sampled items are among the first `above` of `pool` irrelevant ones: the law
  // of the sampled rank s + 1. Ratios of neighbours lead from the mode to both sides, so that nothing overflows.
  living.law = (above, pool, m, replace) => {
    const below = pool - above;
    const [first, last] = replace
      ? [below ? 0 : m, above ? m : 0]
      : [Math.max(0, m - below), Math.min(above, m)];
    const ratio = replace
      ? (s) => (((m - s) / (s + 1)) * above) / below
      : (s) => (((above - s) / (s + 1)) * (m - s)) / (below - m + s + 1);
    const peak = replace ? ((m + 1) * above) / pool : ((m + 1) * (above + 1)) / (pool + 2);
    const mode = Math.min(Math.max(Math.floor(peak), first), last);
    const law = new Array(m + 1).fill(0);
    law[mode] = 1;
    for (let s = mode; s < last; s++) law[s + 1] = law[s] * ratio(s);
    for (let s = mode; s > first; s--) law[s - 1] = law[s] / ratio(s - 1);
    const total = law.reduce((sum, chance) => sum + chance);
    return law.map((chance) => chance / total);
  };

  living.figures.sampled_rank = {
    controls: () => ({
      n: living.slider("items n", sizes, 10000),
      r: living.slider("rank r", ({ n }) => spaced(n), 100),
      m: living.slider("sampled items m", ({ n }) => spaced(Math.min(1000, n - 1)), 100),
      draws: living.choice("draws", ways),
    }),
    show({ n, r, m, draws }) {
      const [law, other] = [true, false].map((chosen) =>
        living.law(r - 1, n - 1, m, (draws === "with replacement") === chosen));
      const mean = 1 + (m * (r - 1)) / (n - 1);
      // The sampled ranks that occur, at least ten of them, and from 1 on where that is not far.
      const seen = (chance) => chance > 5e-4;
      const last = Math.max(10, ...[law, other].map((one) => 1 + one.findLastIndex(seen)));
      const begin = Math.min(last - 9, ...[law, other].map((one) => 1 + one.findIndex(seen)));
      const first = begin > last / 2 ? begin : 1;
      const end = Math.min(m + 1, first > 1 ? last : [10, 20, 50, 100, 200, 500].find((size) => size >= last) ?? last);
      const points = (one) => one.slice(first - 1, end).map((chance, s) => [s + first, chance]);
      const most = Math.max(...law, ...other);
      const likeliest = 1 + law.indexOf(Math.max(...law));
      return {
        charts: [
          living.chart({
            label: `Probability of each sampled rank of an item on rank ${r} among ${n}`,
            x: { label: "sampled rank", from: first - 0.5, to: end + 0.5 },
            y: { label: "probability", from: 0, to: [0.02, 0.05, 0.1, 0.2, 0.5, 1].find((top) => top >= most) ?? 1 },
            bars: points(law),
            lines: [{ look: "b", points: points(other) }],
            cursor: mean,
          }),
        ],
        words:
          `With m = ${living.whole(m)} sampled items, drawn ${draws}, rank ${living.whole(r)} of ${living.whole(n)} ` +
          `becomes sampled rank 1 with probability ${living.fixed(law[0])}. The most probable sampled rank is ` +
          `${living.whole(likeliest)} (probability ${living.fixed(law[likeliest - 1])}), and the mean, the vertical ` +
          `line, is ${living.fixed(mean, 2)}.`,
      };
    },
  };
})();
