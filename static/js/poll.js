// The page fetched anew and its parts put in: after a reconnect, and every five seconds while there is no socket.
import { learn } from "./clock.js";
import { fedAnew } from "./feed.js";
import { parseDocument } from "./inert.js";
import { logAnew } from "./log.js";
import { patch } from "./patch.js";
import { asOf } from "./state.js";
import { markStale } from "./watched.js";

const PATIENCE = 8000;
const { login } = document.body.dataset;
// What was answered to a form cannot be fetched again: then a light page tells how things stand.
const here = () => document.body.dataset.refresh ?? location.href;
const of = (doc) => doc.getElementById("live");
const line = (doc) => doc.getElementById("state-line");
let running = null;

/** How a page that was fetched says that it is itself: since when what it shows could not be read, or 0. */
const downSince = (doc) => (Number(line(doc)?.dataset.downSince) || 0) * 1000;

const take = (doc, begun) => {
  patch(doc, begun);
  fedAnew(doc);
  logAnew(doc);
  // Rows that were loaded while one scrolled are not in it: the page is then as old as they are.
  if (!markStale(doc)) return;
  const read = Number(line(doc)?.dataset.read);
  if (read) asOf(read * 1000);
  const [mine, theirs] = [of(document), of(doc)];
  if (mine && theirs?.dataset.read) mine.dataset.latest = theirs.dataset.read;
};

const fetched = async () => {
  const begun = performance.now();
  const headers = { "Accept": "text/html", "Mirante-Refresh": "1" };
  const response = await fetch(here(), { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  const heard = Date.now();
  if (response.status === 401 || new URL(response.url).pathname === login) return { signedOut: true };
  if (response.status === 403 && of(document)) return { roleLost: true };
  const doc = parseDocument(await response.text());
  if (!doc.body.hasAttribute("data-signed-in")) return response.ok && doc.body.dataset.login ? { signedOut: true } : { failed: true };
  learn(doc, heard);
  const down = downSince(doc);
  // A page without live parts may itself be an error page, and answers as it did at first.
  const failed = !response.ok && (of(document) !== null || response.status >= 500);
  if (!failed || down) take(doc, begun);
  return { failed, down, why: line(doc)?.dataset.why ?? "" };
};

/** Fetch this page and patch it. Says whether that `failed`, who is `signedOut` or `roleLost`, and since when it is `down`. */
export const refresh = () => {
  running ??= fetched().catch(() => ({ failed: true })).finally(() => { running = null; });
  return running;
};
