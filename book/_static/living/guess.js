// Guess the winner: Recall@10 of each recommender among 100 films, on buttons, and once one is pressed among all and as
// the sample grows. The figure is given { m: [...], values: { X: [...], ... }, cutoffs: [[low, high], ...] }.
(() => {
  const among = (m, data) => (m === data.m.at(-1) ? "all films" : `${living.whole(m)} random films`);
  const at = (m, { m: sizes, values }) => Object.values(values).map((one) => one[sizes.indexOf(m)]);
  const place = (value, values) => ["first", "second", "last"][values.filter((other) => other > value).length];

  living.figures.guess = {
    controls: (data) => ({
      guess: living.buttons("Which is best?", Object.keys(data.values), ({ guess, m }) => {
        const shown = guess ? m : 100;
        return { text: `Recall@10 among ${among(shown, data)}${guess ? "" : ": pick one"}`, values: at(shown, data) };
      }),
      m: living.slider("films drawn", data.m, data.m.at(-1), (m) => (m === data.m.at(-1) ? "all" : living.whole(m))),
    }),
    handle: "m",
    show({ guess, m }, data) {
      if (!guess) return { charts: [], words: "" };
      const [names, all] = [Object.keys(data.values), data.m.at(-1)];
      const [few, exact] = [100, all].map((size) => place(at(size, data)[names.indexOf(guess)], at(size, data)));
      const share = (value, i) => value / Math.max(...at(data.m[i], data));
      const values = Object.fromEntries(names.map((name) => [name, data.values[name].map(share)]));
      const { now, verdict, chart } = living.orders({ m: data.m, values }, m, {
        label: "Recall@10 of X, Y and Z, as a share of that of the best, against the number of random films",
        x: { label: "random films (drag)", from: data.m[0], to: all, log: true, end: "all" },
        y: { label: "Recall@10, as a share of that of the best", from: 0.7, to: 1 },
      });
      const size = m === all ? 100 : m;
      const [low, high] = data.cutoffs[data.m.indexOf(size)];
      return {
        charts: [chart],
        words:
          `<strong>${exact === "first" ? "Yes" : "No"}: ${guess} is ${few} among 100 random films, ` +
          `and ${exact} among all.</strong> <span>Among ${among(m, data)} the order is ${now}, ${verdict}. Recall@10 among ` +
          `${among(size, data)} is a mean of exact Recall@K, mostly from K = ${low} to ${high}.</span>`,
      };
    },
  };
})();
