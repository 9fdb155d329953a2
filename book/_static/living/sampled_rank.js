// The law of the sampled rank of one relevant item.
(() => {
  const ways = ["without replacement", "with replacement"];
  const sizes = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];

  living.figures.sampled_rank = {
    controls: {
      n: living.slider("items n", sizes, 10000),
      r: living.slider("rank r", ({ n }) => living.spaced(1, n), 100),
      m: living.slider("sampled items m", ({ n }) => living.spaced(1, Math.min(1000, n - 1)), 100),
      draws: living.choice("draws", ways),
    },
    values({ n, r, m, draws }) {
      const laws = ways.map((way) => living.law(r - 1, n - 1, m, way === "with replacement"));
      const law = laws[ways.indexOf(draws)];
      return { law, other: laws[1 - ways.indexOf(draws)], mean: 1 + living.sum(m + 1, (s) => s * law[s]) };
    },
    show({ n, r, m, draws }, { law, other, mean }) {
      // The sampled ranks that occur, at least ten of them, and from 1 on where that is not far.
      const seen = (chance) => chance > 5e-4;
      const last = Math.max(10, ...[law, other].map((one) => 1 + one.findLastIndex(seen)));
      const begin = Math.min(last - 9, ...[law, other].map((one) => 1 + one.findIndex(seen)));
      const first = begin > last / 2 ? begin : 1;
      const end = Math.min(m + 1, first > 1 ? last : [10, 20, 50, 100, 200, 500].find((size) => size >= last) ?? last);
      const points = (one) => [...one.subarray(first - 1, end)].map((chance, s) => [s + first, chance]);
      const most = Math.max(...law, ...other);
      const likeliest = 1 + law.indexOf(Math.max(...law));
      return {
        charts: [
          living.chart({
            label: `Probability of each sampled rank of an item on rank ${r} among ${n}`,
            x: { label: "sampled rank", from: first - 0.5, to: end + 0.5 },
            y: { label: "probability", from: 0, to: [0.02, 0.05, 0.1, 0.2, 0.5, 1].find((top) => top >= most) ?? 1 },
            bars: points(law),
            lines: [{ look: "b", name: ways.find((way) => way !== draws), points: points(other) }],
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
