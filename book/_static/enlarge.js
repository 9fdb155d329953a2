// A press on a figure shows it as large as the window; Escape, or another press, leads back.
addEventListener("load", () => {
  for (const picture of document.querySelectorAll("article figure img")) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "enlarge", textContent: "Enlarge" });
    const show = () => {
      const dialog = document.createElement("dialog");
      dialog.className = "enlarged";
      dialog.ariaLabel = "The figure, enlarged";
      const close = Object.assign(document.createElement("button"), { type: "button", textContent: "Close" });
      dialog.append(close, picture.cloneNode());
      dialog.addEventListener("click", () => dialog.close());
      dialog.addEventListener("close", () => dialog.remove());
      document.body.append(dialog);
      dialog.showModal();
    };
    [picture, button].forEach((pressed) => pressed.addEventListener("click", show));
    picture.after(button);
  }
});
