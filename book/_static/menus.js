// The current chapter in view, whenever the list of chapters is: beside the page, and over it once its menu opens.
addEventListener("load", () => {
  const current = document.querySelector(".bd-docs-nav .current > a");
  const observer = new IntersectionObserver(() => current?.scrollIntoView({ block: "nearest" }), { threshold: 0.1 });
  observer.observe(document.querySelector(".bd-docs-nav"));
});

// On a phone the list of sections lies over the page: it makes room for the section that was chosen.
document.addEventListener("click", ({ target }) => {
  if (target.closest("a[href^='#']")) target.closest("dialog")?.close();
});

// The menu of the page closes as menus do.
const menu = document.querySelector(".page-menu");
document.addEventListener("click", ({ target }) => menu?.contains(target) || menu?.removeAttribute("open"));
menu?.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  menu.removeAttribute("open");
  menu.querySelector("summary").focus();
});
