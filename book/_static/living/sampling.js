// What the living figures compute: metrics, the law of the sampled rank, and the bias-variance correction.
// tests/tools/test_living.py compares all of it with the package.
window.living = { figures: {} };

// Metrics of a single relevant item on a rank among n items.
living.metrics = {
  AP: (rank) => 1 / rank,
  "NDCG@10": (rank) => (rank <= 10 ? 1 / Math.log2(rank + 1) : 0),
  "Recall@10": (rank) => (rank <= 10 ? 1 : 0),
  AUC: (rank, n) => (n - rank) / (n - 1),
};

living.sum = (length, term) => {
  let total = 0;
  for (let i = 0; i < length; i++) total += term(i);
  return total;
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
  const law = new Float64Array(m + 1);
  law[mode] = 1;
  // What is further away is less than rounding.
  for (let s = mode; s < last && law[s] > 1e-20; s++) law[s + 1] = law[s] * ratio(s);
  for (let s = mode; s > first && law[s] > 1e-20; s--) law[s - 1] = law[s] / ratio(s - 1);
  const total = living.sum(m + 1, (s) => law[s]);
  for (let s = first; s <= last; s++) law[s] /= total;
  return law;
};

// The expected metric on the sampled rank of an item on a rank among n; drawn without replacement.
living.expected = (metric, rank, n, m) => {
  const law = living.law(rank - 1, n - 1, m, false);
  return living.sum(m + 1, (s) => law[s] && law[s] * living.metrics[metric](s + 1, m + 1));
};

// The law A without replacement: for each rank 1, ..., n where its law begins to be above 0, and the law from there on.
living.laws = (n, m) =>
  Array.from({ length: n }, (_, above) => {
    const law = living.law(above, n - 1, m, false);
    const first = law.findIndex((chance) => chance);
    return [first, law.subarray(first, 1 + law.findLastIndex((chance) => chance))];
  });

// A x, the mean of an estimate with the values x at each rank, and A'w, a sum over the ranks with weights.
living.means = (laws, x) =>
  laws.map(([first, law]) => {
    let mean = 0;
    for (let i = 0; i < law.length; i++) mean += law[i] * x[first + i];
    return mean;
  });
living.sums = (laws, m, weights) => {
  const sums = new Float64Array(m + 1);
  laws.forEach(([first, law], r) => {
    for (let i = 0; i < law.length; i++) sums[first + i] += weights[r] * law[i];
  });
  return sums;
};
living.product = (x, y) => living.sum(x.length, (i) => x[i] * y[i]);
// The variance of an estimate, summed over the ranks with weights: that of the squares less that of the squared means.
living.variance = (means, sums, x, weights) =>
  living.sum(x.length, (s) => sums[s] * x[s] ** 2) - living.sum(means.length, (r) => weights[r] * means[r] ** 2);

// The bias-variance correction of the paper, eqs. (24) and (25), with equal weights: a function of gamma that returns
// its values x, which solve ((1 - gamma) A'A + gamma diag(A'1)) x = A'b for the metric b.
living.correction = (metric, n, m, laws) => {
  const products = Array.from({ length: m + 1 }, (_, i) => new Float64Array(i + 1));   // the lower half of A'A
  for (const [first, law] of laws) {
    for (let i = 0; i < law.length; i++) {
      const [row, chance] = [products[first + i], law[i]];
      for (let j = 0; j <= i; j++) row[first + j] += chance * law[j];
    }
  }
  const sums = living.sums(laws, m, new Float64Array(n).fill(1));
  const right = living.sums(laws, m, Float64Array.from(laws, (_, i) => living.metrics[metric](i + 1, n)));
  return (gamma) => {
    const matrix = products.map((row) => row.map((entry) => (1 - gamma) * entry));
    matrix.forEach((row, i) => (row[i] += gamma * sums[i]));
    return living.solved(matrix, right);
  };
};

// The solution of a positive definite system by Cholesky's method. The lower half of the matrix is enough; it is lost.
living.solved = (matrix, right) => {
  const x = right.slice();
  matrix.forEach((row, i) => {
    for (let j = 0; j <= i; j++) {
      const rest = row[j] - living.sum(j, (k) => row[k] * matrix[j][k]);
      row[j] = i === j ? Math.sqrt(rest) : rest / matrix[j][j];
    }
    x[i] = (x[i] - living.sum(i, (k) => row[k] * x[k])) / row[i];
  });
  for (let i = x.length - 1; i >= 0; i--) {
    x[i] /= matrix[i][i];
    for (let j = 0; j < i; j++) x[j] -= matrix[i][j] * x[i];
  }
  return x;
};

// Whole numbers from the first to the last in even steps on a logarithmic scale, all powers of ten among them.
living.spaced = (first, last, perDecade = 40) => {
  const found = new Set();
  for (let i = Math.ceil(perDecade * Math.log10(first)); ; i++) {
    const number = Math.round(10 ** (i / perDecade));
    if (number >= last) return [...found.add(last)];
    found.add(number);
  }
};
