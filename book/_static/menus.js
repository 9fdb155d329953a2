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
