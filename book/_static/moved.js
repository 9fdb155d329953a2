// An address of something that has left its page leads to where it is now.
const MOVED = [
  // the API was one page once
  [/^(?:module-)?recsample\.\w+\.sequential\./, "api/sequential"],
  [/^(?:module-)?recsample\.(\w+)/, "api/$1"],
  [/^equation-eq-corrected-(problem|matrix|normal|monotone|steps|mixture)$/, "corrected_metrics"],
  [/^(tab|fig)-minimal-bias-(cls|package)$/, "corrected_metrics"],
  [/^constrained-least-squares-section/, "corrected_metrics"],
  [/^the-least-squares-problem-section/, "corrected_metrics", "the-least-bias-section-5-2-of-the-paper"],
  [/^(fig|tab)-movielens-(figure5|recall|exact|ranges)$/, "corrections_movielens"],
  [/^equation-eq-movielens-(loss|cosine|norm)$/, "corrections_movielens"],
  [/^where-the-ranks-lie-section/, "corrections_movielens", "fig-movielens-figure5"],
  [/^(thm-sequential-steps|equation-eq-sequential-(steps|mixture)|fig-sequential-estimates)$/, "minimal_bias"],
  [/^equation-eq-rank-distribution-mixture$/, "ties"],
  [/^equation-eq-inference-order$/, "corrections_movielens", "equation-eq-corrections-movielens-order"],
  [/^equation-eq-your-study-total$/, "inference", "equation-eq-inference-parts"],
  [/^tab-report-errors$/, "estimation"],
];

addEventListener("DOMContentLoaded", () => {
  const name = decodeURIComponent(location.hash.slice(1));
  if (!name || document.getElementById(name)) return;
  const [past, page, now] = MOVED.find(([past]) => past.test(name)) ?? [];
  if (!past) return;
  const there = page.replace("$1", past.exec(name)[1]);
  location.replace(`${document.documentElement.dataset.content_root}book/${there}.html#${now ?? name}`);
});
