// The bar of what can be done fits what is so now: when the state that the page shows changes, the bar is read anew.
const WAIT_MS = 400; // a job that fails passes through two states at once
const bar = () => document.getElementById("acting");
const shown = () => [
  document.querySelector("#job-state .st")?.className ?? "",
  document.getElementById("paused")?.childElementCount ?? "",
].join("/");

let last = shown();
let timer = 0;

const refresh = () => {
  const open = document.querySelector("dialog[open], #acting details[open]") || bar()?.contains(document.activeElement);
  if (open) { timer = setTimeout(refresh, WAIT_MS); return; } // not under the reader's hand
  last = shown();
  window.htmx?.trigger(bar(), "acting-stale");
};

const head = document.querySelector("main .head");
if (head && bar()) {
  new MutationObserver(() => {
    if (shown() === last) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT_MS);
  }).observe(head, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
}
