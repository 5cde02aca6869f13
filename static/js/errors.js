// A fragment that could not be had: say so where it was asked for, and never swap a whole page into a cell.
const say = (target, text) => {
  const note = document.createElement("p");
  note.className = "msg";
  note.setAttribute("role", "alert");
  note.textContent = text;
  target.replaceChildren(note);
};

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, target } = event.detail;
  const { notFragment } = document.body.dataset;
  if (event.detail.isError && /^\s*<!doctype/i.test(xhr.responseText)) {
    event.detail.shouldSwap = false;
    say(target, notFragment);
  }
});
document.addEventListener("htmx:sendError", (event) => say(event.detail.target, document.body.dataset.offline));
