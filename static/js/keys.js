// The keyboard: / searches, ? helps, g and a letter goes, j k move, Enter opens, x selects, r retries what is
// selected, [ ] page, . reads again.
import { open } from "./dialog.js";
import { ask, toggle } from "./select.js";

const pages = { o: '.index a[href$="/"]', f: '.index a[href$="/failures/"]', r: '.index a[href$="/replays/"]', y: '.index a[href*="/system/"]', a: '.index a[href$="/audit/"]' };
const rows = () => [...document.querySelectorAll("tr[data-queue], tr[data-job], tr[data-group]")];
let leader = 0;

const move = (step) => {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(document.activeElement?.closest("tr"));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step))];
  next.querySelector("th a")?.focus();
  next.scrollIntoView({ block: "nearest" });
};
const follow = (selector) => document.querySelector(selector)?.click();

const actions = {
  "/": () => document.getElementById("q")?.focus(),
  "?": () => open("help"),
  j: () => move(1),
  k: () => move(-1),
  x: () => toggle(),
  r: () => ask("retry"),
  "[": () => follow("a[rel=prev]"),
  "]": () => follow("a[rel=next]"),
  ".": () => location.reload(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
  if (Date.now() - leader < 1500 && pages[event.key]) follow(pages[event.key]);
  else if (event.key === "g") { leader = Date.now(); return; }
  else if (actions[event.key]) actions[event.key]();
  else return;
  leader = 0;
  event.preventDefault();
});
