// What is wider than the page scrolls by itself: then the Tab key stops there, so that the arrow keys can scroll it.
// The theme sees to that when the window changes, but not for what is unfolded, nor for figures and formulas.
addEventListener("load", () => {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  const wide = ".output, .pst-scrollable-table-container, div.math mjx-container";
  document.querySelectorAll(wide).forEach((element) => sizes.observe(element));
});
