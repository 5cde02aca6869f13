// Questions before an action: links and buttons with data-ask load theirs into the one dialog. Without this script
// the same link shows a page. Closing the dialog changes nothing on the server.
const dialog = document.getElementById("ask-dialog");
let opener = null;

// Where the focus goes: to what is wrong, or to what has to be filled in. Where nothing has, to the button that acts;
// before something dangerous to the one that closes, so that Enter alone never does it.
const FIELDS = ":is(input:not([type=hidden], [type=radio], [type=checkbox], [name=reason]), select, textarea)";
const first = () => {
  const field = dialog.querySelector(`.err, form > ${FIELDS}, form > :not(details) ${FIELDS}`);
  return field ?? dialog.querySelector(".btn.pri") ?? dialog.querySelector("[data-closes], button");
};

// What came is no question (an outage, a lost right): it can be closed like one.
const closable = () => {
  if (dialog.querySelector("[data-closes]")) return;
  const close = document.querySelector("#help form[method=dialog]");
  if (close) dialog.append(close.cloneNode(true));
};

// With this script a moment is typed in the reader's own time zone, and the field says so.
const local = () => {
  for (const field of document.querySelectorAll("[data-local]")) {
    const note = field.parentElement.querySelector("small");
    if (note) note.textContent = field.dataset.local;
  }
};
local();

document.addEventListener("click", (event) => {
  const asks = event.target.closest("[data-ask]");
  if (asks) {
    opener = asks;
    asks.closest("details")?.removeAttribute("open");
  }
  if (dialog?.contains(event.target) && event.target.closest("[data-closes]")) {
    event.preventDefault();
    dialog.close();
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (!dialog || event.detail.target !== dialog) return;
  closable();
  local();
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  first()?.focus({ preventScroll: true });
});
// A key that is still held from opening the question does not answer it.
dialog?.addEventListener("keydown", (event) => { if (event.repeat && event.key === "Enter") event.preventDefault(); });
dialog?.addEventListener("close", () => {
  dialog.replaceChildren();
  if (opener?.isConnected) (opener.closest("details")?.querySelector("summary") ?? opener).focus();
  opener = null;
});

// The first press counts; the server would recognise a second one by its key, too.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-once]")) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "1";
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-disabled");
  }
});

// What came of an action is told once: reloading or sending the address on does not tell it again.
const here = new URL(location.href);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(history.state, "", here);
}

// A moment is typed in the reader's own time; what it is in UTC stands below it, and goes to the server.
const zoned = (at, timeZone) => at.toLocaleString([], { dateStyle: "medium", timeStyle: "short", timeZone });
document.addEventListener("input", (event) => {
  const field = event.target;
  if (!field.matches("[data-when]")) return;
  const at = new Date(field.value);
  const valid = !Number.isNaN(at.getTime());
  const form = field.form;
  if (form.elements.at_ms) form.elements.at_ms.value = valid ? String(at.getTime()) : "";
  const how = form.querySelector("[name=how][value=at]");
  if (how) how.checked = true;
  const note = field.parentElement.querySelector("small");
  if (note && valid) note.textContent = field.dataset.when.replace("{}", () => zoned(at)).replace("{}", () => zoned(at, "UTC"));
});
document.addEventListener("input", (event) => {
  if (!event.target.matches("[name=amount], [name=unit]")) return;
  const how = event.target.form?.querySelector("[name=how][value=in]");
  if (how) how.checked = true;
});
