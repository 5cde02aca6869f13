// Lists that grow: the feed on top, the log at its end. What the reader looks at stays where it is.
import { inert, parse } from "./inert.js";
import { render } from "./time.js";

const FEED = 200;
const LOG = 1000;

const key = (entry) => {
  if (entry.id || entry.dataset.event) return entry.id || entry.dataset.event;
  const copy = entry.cloneNode(true);
  for (const time of copy.querySelectorAll("time")) time.textContent = time.dateTime;
  return copy.textContent.replace(/\s+/g, " ").trim();
};

/** The entries of some markup that may be shown, with moments as the reader wants them. */
export const entries = (html) => vet(parse(html));
export const vet = (found) => {
  const fit = found.filter((entry) => entry.localName === "li" && inert(entry, true));
  for (const entry of fit) render(entry);
  return fit;
};

/** Those among `found` that `shown` has not. An entry comes twice when a page was fetched and a socket caught up. */
export const unknown = (found, shown) => {
  const known = new Set([...shown].map(key));
  return found.filter((entry) => !known.has(key(entry)) && known.add(key(entry)));
};

const dispensable = (entry) => !entry.contains(document.activeElement);
const trim = (list, most, order) => {
  let over = list.children.length - most;
  for (const entry of order([...list.children])) {
    if (over <= 0) return;
    if (!dispensable(entry)) continue;
    entry.remove();
    over -= 1;
  }
};

/** Newest first, on top. Entries that a filter hides are the first to go. */
export const prepend = (feed, found) => {
  const { scrollTop, scrollHeight } = feed;
  feed.prepend(...found.map((entry) => document.adoptNode(entry)));
  trim(feed, FEED, (all) => [...all.filter((e) => e.hidden).reverse(), ...all.filter((e) => !e.hidden).reverse()]);
  if (scrollTop > 0) feed.scrollTop = scrollTop + feed.scrollHeight - scrollHeight;
};

/** Lines of a log, numbered by `value`. A reader at the end stays at the end, any other with the same line. */
export const append = (log, found) => {
  const last = log.lastElementChild ? log.lastElementChild.value : 0;
  const more = found.filter((line) => !line.hasAttribute("value") || line.value > last);
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 8;
  log.append(...more.map((line) => document.adoptNode(line)));
  const before = log.scrollHeight;
  trim(log, LOG, (all) => all);
  log.scrollTop = atEnd ? log.scrollHeight : log.scrollTop - (before - log.scrollHeight);
  return more.length;
};
