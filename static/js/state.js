// The state line: how far what is on the page can be trusted, in a word, and always how old it is.
import { tick } from "./age.js";
import { known, say } from "./say.js";
import { moment } from "./time.js";

const words = document.body.dataset;
const line = document.getElementById("state-line");
const part = (name) => line?.querySelector(`[data-line=${name}]`);
const SAID = {
  "live": words.stateLive,
  "catching-up": words.stateCatchingUp,
  "polling": words.statePolling,
  "blind": words.stateNotLiveSince,
  "signed-out": words.stateSignedOut,
};
let shown = "";
let newest = 0;

const lamp = (state) => {
  const mark = document.createElement("span");
  mark.className = "live";
  mark.dataset.pulse = state;
  mark.append(document.createElement("i"));
  return mark;
};
const spoken = (state, since) => {
  if (state !== "blind") return [SAID[state]];
  if (!since) return [words.stateNotLive];
  const [before, after = ""] = SAID.blind.split("{}");
  return [before, moment(since), after];
};
const fill = (name, text) => {
  const node = part(name);
  if (!node) return;
  node.hidden = !text;
  if (node.textContent !== text) node.textContent = text;
};

/** Show a state; `since` in ms and `why`, plain text, belong to what is not live, `rate` in events a second to what is. */
export const show = (state, { since = 0, why = "", rate = null } = {}) => {
  if (!line) return;
  fill("why", state === "blind" ? why : state === "polling" ? words.statePollingWhy : "");
  fill("rate", state === "live" && Number.isFinite(rate) ? told(rate) : "");
  fill("followed", "");
  const now = `${state} ${since}`;
  if (shown === now) return;
  const text = document.createElement("span");
  text.append(...spoken(state, since));
  const mark = lamp(state);
  mark.append(text);
  part("word")?.replaceChildren(mark);
  line.dataset.state = state;
  // A page that opens live is as expected; all that changes later is told.
  if (!shown && state === "live") known("state", text.textContent);
  else say("state", text.textContent);
  shown = now;
};
const told = (rate) => {
  const digits = rate < 10 ? 1 : 0;
  const said = rate.toLocaleString(document.documentElement.lang, { maximumFractionDigits: digits });
  return words.eventsASecond.replace("{}", said);
};

/** What is shown stood so at `ms` by the server's clock. */
export const asOf = (ms) => {
  if (!(ms > newest) || !part("age")) return;
  newest = ms;
  const age = part("age").querySelector("[data-age]");
  if (age) age.dataset.age = String(ms / 1000);
  part("age").hidden = false;
  tick();
};
/** The moment of the newest that is shown, in ms; 0 when nobody knows. */
export const newestShown = () => newest;

const first = Number(part("age")?.querySelector("[data-age]")?.dataset.age);
if (first > 0) newest = first * 1000;
