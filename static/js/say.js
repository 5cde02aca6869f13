// What a screen reader is told: the newest of what changed, at most every 20 seconds, never each tick.
import { after } from "./timers.js";

const APART = 20_000;
const SETTLE = 1500; // what was so for a moment only is not worth a word
const region = document.getElementById("say");
const next = new Map(); // by subject
const told = new Map();
let lastly = -Infinity;

const tell = () => {
  const fresh = [...next].filter(([subject, text]) => text && told.get(subject) !== text);
  next.clear();
  if (!fresh.length) return;
  for (const [subject, text] of fresh) told.set(subject, text);
  lastly = performance.now();
  region.textContent = fresh.map(([, text]) => text).join(" ");
};

/** Tell `text` about a subject; what was to be told of it before and was not yet is out of date. */
export const say = (subject, text) => {
  if (!region) return;
  next.set(subject, text);
  after("say", Math.max(SETTLE, lastly + APART - performance.now()), tell);
};

/** Take as told what the page itself shows at first. */
export const known = (subject, text) => told.set(subject, text);
