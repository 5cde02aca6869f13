// Picking rows of a list of jobs: the count in the bar, the whole page, all that match, a range with Shift, Escape.
// Without this module the form around the list works alone: what is checked is sent.
const language = document.documentElement.lang;
const form = () => document.getElementById("bulk");
const boxes = () => [...(form()?.querySelectorAll("input[name=job]") ?? [])];
const all = () => form()?.querySelector("input[name=all]");
let last = null; // the box that was changed last: a range begins there

const show = () => {
  const bar = form()?.querySelector("[data-bulk]");
  if (!bar) return;
  const found = boxes();
  const picked = found.filter((box) => box.checked).length;
  const whole = all()?.checked ?? false;
  for (const box of found) box.closest("tr").classList.toggle("sel", whole || box.checked);
  const total = Number(bar.dataset.total);
  const known = !whole || bar.dataset.total !== "";
  const n = known ? (whole ? total : picked).toLocaleString(language) : "";
  bar.toggleAttribute("data-picked", whole || picked > 0);
  bar.querySelector("[data-bulk-count]").textContent = known ? bar.dataset.selected.replace("{}", n) : bar.dataset.selectedAll;
  for (const place of bar.querySelectorAll("[data-bulk-n]")) place.textContent = n;
  const head = form().querySelector("[data-bulk-head]");
  if (head) {
    head.checked = whole || (found.length > 0 && picked === found.length);
    head.indeterminate = !head.checked && picked > 0;
  }
};

const set = (picked, checked) => {
  for (const box of picked) box.checked = checked;
  if (!checked && all()) all().checked = false;
  show();
};

const range = (from, to) => {
  const found = boxes();
  const [first, second] = [found.indexOf(from), found.indexOf(to)].sort((a, b) => a - b);
  return first < 0 ? [to] : found.slice(first, second + 1);
};

/** Nothing is picked any more. */
export const clear = () => { last = null; set(boxes(), false); };

/** Pick the row in which the focus is, or no longer; says whether there was one. */
export const toggle = () => {
  const row = document.activeElement?.closest("tr[data-job], tr[data-group]");
  const box = row?.querySelector("input[name=job], input[name=group]");
  if (!box) return false;
  box.checked = !box.checked;
  last = box;
  show();
  return true;
};

/** Ask for a verb as its button does, where something is picked and the verb may be done. */
export const ask = (verb) => form()?.querySelector(`[data-picked] button[data-verb="${verb}"]`)?.click();

document.addEventListener("click", (event) => {
  const { target } = event;
  if (target.closest("[data-bulk-page]")) set(boxes(), true);
  else if (target.closest("[data-bulk-clear]")) clear();
  else if (target.matches("#bulk input[name=job]")) {
    if (event.shiftKey && last) set(range(last, target), target.checked);
    last = target;
  }
});

document.addEventListener("change", (event) => {
  const { target } = event;
  if (target.matches("[data-bulk-head]")) set(boxes(), target.checked);
  else if (target.closest("#bulk")) {
    if (target.name === "job" && !target.checked && all()) all().checked = false;
    show();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (event.target.closest("textarea, select, input:not([type=checkbox])")) return;
  clear();
});

// A page that comes back out of the browser's memory has the boxes as they were left.
addEventListener("pageshow", show);
show();
