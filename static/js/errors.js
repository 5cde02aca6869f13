// A fragment that could not be had: say so where it was asked for, and never swap a whole page into a cell.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  const page = /^\s*<!doctype/i.test(xhr.responseText);
  if (page && event.detail.target !== document.body) {
    event.detail.shouldSwap = false;
    location.reload();
  }
});
document.addEventListener("htmx:sendError", (event) => {
  const note = document.createElement("p");
  note.className = "msg";
  note.setAttribute("role", "alert");
  note.textContent = document.body.dataset.offline || "Mirante does not answer. Reload to try again.";
  event.detail.target.replaceChildren(note);
});
