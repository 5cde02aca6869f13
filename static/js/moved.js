// Regions with links and buttons are never pushed. A part says by its data-n how one looks now; where the region shows
// otherwise it is read anew at once, and its buttons rest until then; but not while the reader is in it.
const WAIT_MS = 400; // until it is read again

const regions = () => [...document.querySelectorAll("[data-moved]")];
const moved = (region) => {
  const told = document.getElementById(region.dataset.moved)?.dataset.n;
  return told !== undefined && told !== region.dataset.n;
};
const held = (region) => {
  const at = document.activeElement;
  if (region.querySelector("details.pop[open], form[data-sent]")) return true;
  return region.contains(at) && at.matches("button, input, select, textarea, summary.btn");
};

// A button of what is no longer so would only be refused.
const rest = (region, resting) => {
  for (const acts of region.querySelectorAll(".acts")) acts.inert = resting;
};

let timer = 0;
let looked = -WAIT_MS;
const look = () => {
  timer = 0;
  looked = performance.now();
  const due = regions().filter(moved);
  // What is within another that is read anew comes with it.
  const outer = due.filter((region) => !due.some((other) => other !== region && other.contains(region)));
  for (const region of outer) if (!held(region)) window.htmx?.trigger(region, "moved");
  if (outer.some(held)) later(2 * WAIT_MS);
};
const later = (ms) => { timer ||= setTimeout(look, ms); };
const soon = () => {
  for (const region of regions()) rest(region, moved(region) && !held(region));
  later(Math.max(0, looked + WAIT_MS - performance.now()));
};

document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.successful && event.target.matches?.("[data-moved]")) rest(event.target, false);
});

// Where the answer has no such region, the page is another one by now.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, serverResponse, xhr } = event.detail;
  if (!target.matches?.("[data-moved]") || event.target !== target) return;
  if (xhr.status >= 400) event.detail.shouldSwap = false;
  else if (!serverResponse.includes(`id="${target.id}"`)) {
    event.detail.shouldSwap = false;
    location.reload();
  }
});

const marks = [...new Set(regions().map((region) => region.dataset.moved))].map((id) => document.getElementById(id));
const observer = new MutationObserver(soon);
for (const mark of marks) if (mark) observer.observe(mark, { attributes: true, attributeFilter: ["data-n"] });
