// The search, for searchtools.js: the page that explains a term comes first, and what is for readers before the rest.
// DEFINED holds that page for each term of the glossary.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score([page, , anchor, , score]) {
    const asked = new URLSearchParams(location.search).get("q").trim().toLowerCase();
    const explains = [asked, asked.replace(/s$/, "")].some((term) => DEFINED[term] === page);
    return score + (explains && !anchor ? 1000 : 0);
  },
};

// Excerpts are of text: no code, and none of the theme's own words.
addEventListener("DOMContentLoaded", () => {
  const whole = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const article = page.querySelector("article");
    article?.querySelectorAll("pre, details, table, .headerlink, .place, script, style").forEach((part) => part.remove());
    return anchor || !article ? whole(html, anchor) : article.textContent;
  };
});
