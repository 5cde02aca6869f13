// The log of a job that runs: lines come at its end, never the whole of it again.
import { append, entries, vet } from "./lists.js";

const log = () => document.getElementById("log-lines");

export const logged = (html) => { if (log()) append(log(), entries(html)); };

/** The log of a page that was fetched anew: its lines after the last one here. */
export const logAnew = (doc) => {
  const lines = [...(doc.getElementById("log-lines")?.children ?? [])];
  if (log() && lines.every((line) => line.hasAttribute("value"))) append(log(), vet(lines));
};
