// What was drawn with the page and cannot be pushed, for it holds controls: says so when it is out of date.
// [data-stale] holds a live part that tells of the newest, and the notice to show.
const part = (host) => host.querySelector("[data-part]");
const outdated = (host) => {
  const { version, cut } = part(host)?.dataset ?? {};
  if (version !== undefined && host.dataset.version !== undefined) return version !== host.dataset.version;
  return Number(cut) > Number(host.dataset.read);
};

const look = () => {
  for (const host of document.querySelectorAll("[data-stale]")) {
    const notice = host.querySelector(".notice");
    // What was cut stays cut, whatever a page says that was read later.
    if (notice && outdated(host)) notice.hidden = false;
    else if (notice && host.dataset.version !== undefined) notice.hidden = true;
  }
};

const main = document.getElementById("main");
if (main) {
  new MutationObserver(look).observe(main, { subtree: true, attributeFilter: ["data-version", "data-cut"], childList: true });
}
