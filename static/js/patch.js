// Live parts of the page: an element with data-part gives way to a newer one of the same id, unless the reader is in it.
import { inert, parse } from "./inert.js";
import { render } from "./time.js";

const waiting = new Map(); // by id: what came while the reader was in the part
const pushed = new Map(); // by id: when it was last pushed

const busy = (element) => {
  if (element.contains(document.activeElement) && document.activeElement !== document.body) return true;
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed) return false;
  return selection.getRangeAt(0).intersectsNode(element);
};

// Moments are written by the reader's choice and grow older: they compare by what they mean.
const meaning = (element) => {
  const copy = element.cloneNode(true);
  for (const node of [copy, ...copy.querySelectorAll("time, [data-age]")]) {
    if (!node.matches("time[data-time], [data-age]")) continue;
    node.textContent = "";
    node.removeAttribute("title");
  }
  return copy;
};
const same = (one, other) => meaning(one).isEqualNode(meaning(other));

// Of the same shape: only its attributes and texts change, so that bars slide and nothing is laid out anew.
const alike = (one, other) => {
  if (one.nodeType !== other.nodeType || one.nodeName !== other.nodeName) return false;
  if (one.childNodes.length !== other.childNodes.length) return false;
  return [...one.childNodes].every((child, at) => alike(child, other.childNodes[at]));
};
const follow = (one, other) => {
  if (one.nodeType !== Node.ELEMENT_NODE) {
    if (one.data !== other.data) one.data = other.data;
    return;
  }
  for (const { name } of [...one.attributes]) if (!other.hasAttribute(name)) one.removeAttribute(name);
  for (const { name, value } of other.attributes) if (one.getAttribute(name) !== value) one.setAttribute(name, value);
  [...one.childNodes].forEach((child, at) => follow(child, other.childNodes[at]));
};

const put = (current, next) => {
  if (busy(current)) return false;
  if (same(current, next)) return true;
  render(next);
  if (alike(current, next)) follow(current, next);
  else current.replaceWith(document.adoptNode(next));
  return true;
};

const offer = (id, next) => {
  const current = document.getElementById(id);
  if (!current?.hasAttribute("data-part") || next?.id !== id || !next.hasAttribute("data-part") || !inert(next)) return;
  if (put(current, next)) waiting.delete(id);
  else waiting.set(id, next);
};

/** Parts as they came through the socket: markup by id. */
export const push = (parts) => {
  for (const [id, html] of Object.entries(parts)) {
    pushed.set(id, performance.now());
    const found = parse(html);
    if (found.length === 1) offer(id, found[0]);
  }
};

/** All parts of a page that was fetched anew from `begun` on: what has been pushed since is newer. */
export const patch = (doc, begun) => {
  for (const next of doc.querySelectorAll("[data-part][id]")) {
    if ((pushed.get(next.id) ?? -1) < begun) offer(next.id, next);
  }
};

// Nothing that came meanwhile is lost: it shows as soon as the reader has left.
const catchUp = () => { for (const [id, next] of [...waiting]) offer(id, next); };
let asked = false;
const later = () => {
  if (!waiting.size || asked) return;
  asked = true;
  setTimeout(() => { asked = false; catchUp(); }, 100);
};
document.addEventListener("selectionchange", later);
document.addEventListener("focusout", later);
