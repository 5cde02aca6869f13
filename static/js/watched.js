// What this page is about, for the server to choose the news by.
const ROWS = 2000;
const list = (text) => (text ?? "").split(/[\s,]+/).filter(Boolean);

/** The rows that the page shows now: of queues, of groups of failures; and what else is told only to who shows it. */
export const rows = () => [...document.querySelectorAll("[data-row]")].slice(0, ROWS).map((row) => row.dataset.row);

const mark = (doc, key) => {
  const found = (root) => [...root.querySelectorAll(`tr[data-${key}]`)];
  const fresh = new Set(found(doc).map((row) => row.dataset[key]));
  const all = found(document);
  for (const row of all) row.toggleAttribute("data-stale", !fresh.has(row.dataset[key]));
  return all.every((row) => fresh.has(row.dataset[key]));
};

/** Mark the rows that a page which was fetched anew leaves out; says whether it has all queues. A job may leave its list. */
export const markStale = (doc) => {
  mark(doc, "job");
  return mark(doc, "row");
};
/** News come for every queue's row again; of a job that left its list while nobody listened, none will. */
export const allFresh = () => { for (const row of document.querySelectorAll("tr[data-row][data-stale]")) row.removeAttribute("data-stale"); };

/** The first message on a socket; null when there is nothing to watch. */
export const watched = () => {
  const about = document.getElementById("live")?.dataset ?? { page: "source", sources: document.body.dataset.liveSources };
  const sources = list(about.sources);
  if (!sources.length) return null;
  const watch = { page: about.page, sources };
  // `latest` is the reading that was fetched last: parts that changed before are on the page already.
  const read = Math.floor(Number(about.latest || about.read));
  if (read) watch.read = read;
  for (const name of ["queue", "job", "after"]) if (about[name]) watch[name] = about[name];
  return watch;
};
