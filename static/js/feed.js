// The feed of events: filtered by kind, paused by the reader, and still while the mouse or the focus is in it.
import { entries, prepend, unknown, vet } from "./lists.js";

const KEPT = 200;
const feed = document.getElementById("feed");
const words = document.body.dataset;
const tool = (name) => document.querySelector(`[data-feed-${name}]`);
const number = (n) => n.toLocaleString(document.documentElement.lang);
let held = []; // newest first
let heldBack = 0;
let paused = false;
let under = false;

const kinds = () => (tool("kinds")?.value ?? "").split(" ").filter(Boolean);
const filter = (list) => {
  const wanted = kinds();
  for (const entry of list) entry.hidden = wanted.length > 0 && !wanted.includes(entry.dataset.kind);
};
const still = () => paused || under || (feed.contains(document.activeElement) && feed !== document.activeElement);
const note = (node, text) => {
  if (!node) return;
  node.hidden = !text;
  if (node.textContent !== text) node.textContent = text;
};
const told = () => note(tool("held"), heldBack ? words.heldBack.replace("{}", number(heldBack)) : "");

const release = () => {
  if (!feed || still() || !held.length) return;
  filter(held);
  prepend(feed, held);
  held = [];
  heldBack = 0;
  told();
};
const take = (found) => {
  if (!feed) return;
  const fresh = unknown(found, [...held, ...feed.children]);
  if (!fresh.length) return;
  if (!still()) for (const entry of fresh) entry.classList.add("new");
  held = [...fresh, ...held].slice(0, KEPT);
  heldBack += fresh.length;
  if (still()) told();
  else release();
};

/** What the socket brought: entries, newest first. */
export const fed = (html) => take(entries(html));

/** The feed of a page that was fetched anew: its entries that this one has not. */
export const fedAnew = (doc) => take(vet([...(doc.getElementById("feed")?.children ?? [])]));

const pause = (button) => {
  paused = !paused;
  button.setAttribute("aria-pressed", String(paused));
  told();
  release();
};

if (feed) {
  const tools = tool("tools");
  if (tools) tools.hidden = false;
  filter(feed.children);
  tool("pause")?.addEventListener("click", (event) => pause(event.currentTarget));
  tool("kinds")?.addEventListener("change", () => filter(feed.children));
  // Nobody hits a line that moves twice a second. A finger leaves no pointer behind that could tell when it is gone.
  feed.addEventListener("pointerenter", (event) => { under = event.pointerType === "mouse"; });
  feed.addEventListener("pointerleave", () => { under = false; release(); });
  feed.addEventListener("focusout", () => setTimeout(release));
}
