// "37 new since 14:02" over a list of jobs that stays put while one reads it: the pill is a link that reads it anew.
import { moment } from "./time.js";

const words = document.body.dataset;
const pill = document.getElementById("pill");
const { state, read } = document.getElementById("live")?.dataset ?? {};

// The list of completed and failed jobs together is called "finished".
const states = state === "finished" ? ["completed", "failed"] : [state];

/** How many jobs have entered each state since the list was read. */
export const entered = (counts) => {
  const n = states.reduce((sum, name) => sum + Number(counts[name] ?? 0), 0);
  if (!pill || !Number(read)) return;
  pill.hidden = !(n > 0);
  if (pill.hidden || pill.dataset.n === String(n)) return;
  pill.dataset.n = String(n);
  const [before, after] = words.newSince.replace("{}", n.toLocaleString(document.documentElement.lang)).split("{}");
  const told = pill.querySelector("[data-pill]") ?? pill;
  told.replaceChildren(before, moment(Number(read)), after);
};
