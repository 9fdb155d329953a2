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
