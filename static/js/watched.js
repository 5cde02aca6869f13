// What this page is about, for the server to choose the news by.
const ROWS = 2000;
const list = (text) => (text ?? "").split(/[\s,]+/).filter(Boolean);

/** The rows of queues that the overview shows now. */
export const rows = () => [...document.querySelectorAll("tr[data-row]")].slice(0, ROWS).map((row) => row.dataset.row);

/** The first message on a socket; null when there is nothing to watch. */
export const watched = () => {
  const about = document.getElementById("live")?.dataset ?? { page: "source", sources: document.body.dataset.liveSources };
  const sources = list(about.sources);
  if (!sources.length) return null;
  const watch = { page: about.page, sources };
  // `latest` is the reading that was fetched last: parts that changed before are on the page already.
  const read = Number(about.latest || about.read);
  if (read) watch.read = read;
  for (const name of ["queue", "job", "after"]) if (about[name]) watch[name] = about[name];
  return watch;
};
