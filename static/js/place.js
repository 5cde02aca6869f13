// Where a text is wrong the caret stands already, and the place is in sight.
const field = document.querySelector("[data-place] textarea");
if (field) {
  const at = Number(field.parentElement.dataset.place);
  field.focus();
  field.setSelectionRange(at, at + 1);
  const line = field.value.slice(0, at).split("\n").length;
  field.scrollTop = (line - 3) * parseFloat(getComputedStyle(field).lineHeight);
}
