// Ten ranked items, any of them relevant, and what each metric says.
(() => {
  const n = 10;
  const metrics = {
    AUC(ranks) {
      const [relevant, others] = [ranks.length, n - ranks.length];
      return others ? 1 - living.sum(relevant, (i) => ranks[i] - i - 1) / (relevant * others) : NaN;
    },
    AP: (ranks) => living.sum(ranks.length, (i) => (i + 1) / ranks[i]) / ranks.length,
    RR: (ranks) => 1 / ranks[0],
    "NDCG@k": (ranks, k) => {
      const gain = (places) => living.sum(places.length, (i) => 1 / Math.log2(places[i] + 1));
      const best = Array.from({ length: Math.min(k, ranks.length) }, (_, i) => i + 1);
      return gain(ranks.filter((rank) => rank <= k)) / gain(best);
    },
    "Recall@k": (ranks, k) => ranks.filter((rank) => rank <= k).length / ranks.length,
    "Precision@k": (ranks, k) => ranks.filter((rank) => rank <= k).length / k,
    "HitRate@k": (ranks, k) => (ranks[0] <= k ? 1 : 0),
  };
  const said = (value) => (Number.isNaN(value) ? "undefined" : living.fixed(value));
  const bars = (values) => (width) => {
    const [left, right, step] = [104, 58, 26];
    const rows = Object.entries(values).map(([name, value], i) => {
      const y = i * step + 4;
      const end = (width - left - right) * (value || 0);
      return [
        living.text(left - 8, y + 14, name, "end"),
        `<path class="axis" d="M${left} ${y - 2}v22"/>`,
        `<path class="bar" d="M${left} ${y}h${end.toFixed(1)}v18H${left}z"/>`,
        living.text(left + end + 6, y + 14, said(value)),
      ].join("");
    });
    return living.svg(width, rows.length * step + 6, "Bars with the value of each metric for these ten items", rows);
  };

  living.figures.ten_items = {
    controls: {
      relevant: living.items("relevant items, best rank first", n, [3, 5]),
      k: living.slider("cut-off k", Array.from({ length: n }, (_, i) => i + 1), 5),
    },
    values: ({ relevant, k }) =>
      Object.fromEntries(
        Object.entries(metrics).map(([name, metric]) => [
          name.replace("@k", `@${k}`),
          relevant.length ? metric(relevant, k) : NaN,
        ]),
      ),
    show({ relevant }, values) {
      const listed = Object.entries(values).map(([name, value]) => `${name} ${said(value)}`);
      const which = relevant.length > 1 ? `the ranks ${relevant.join(", ")}` : `rank ${relevant[0]}`;
      const words = relevant.length
        ? `Relevant items on ${which} of 10: ${listed.join(", ")}.`
        : "No item is relevant, and no metric is defined. Choose one.";
      return { charts: [bars(values)], words };
    },
  };
})();
