// Moments in the reader's zone and style: the server writes UTC, the reader chooses; the other is on hover.
import { now } from "./clock.js";
import { duration } from "./duration.js";

const load = (key, fallback) => { try { return localStorage.getItem(key) || fallback; } catch { return fallback; } };
const save = (key, value) => { try { localStorage.setItem(key, value); } catch { /* kept for this page only */ } };
const words = document.body.dataset;
const choice = { zone: load("zone", "local"), clock: load("clock", "exact") };
const zoneName = () => (choice.zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);

// A thousand rows have a thousand moments, and making a formatter costs more than using it.
const formats = {};
const format = (zone) => {
  const options = { hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "longOffset" };
  if (zone === "utc") options.timeZone = "UTC";
  return (formats[zone] ??= new Intl.DateTimeFormat("en-GB", options));
};
const parts = (date, zone) => {
  const found = Object.fromEntries(format(zone).formatToParts(date).map((p) => [p.type, p.value]));
  return { day: `${found.year}-${found.month}-${found.day}`, clock: `${found.hour}:${found.minute}:${found.second}`, offset: found.timeZoneName.replace("GMT", "UTC") };
};

const write = (node) => {
  const date = new Date(node.dateTime);
  if (Number.isNaN(date.getTime())) return;
  const ms = `.${String(date.getMilliseconds()).padStart(3, "0")}`;
  const own = parts(date, choice.zone);
  const utc = parts(date, "utc");
  const day = own.day === parts(new Date(now()), choice.zone).day ? "" : own.day;
  const exact = day && node.dataset.time === "day" ? day : (day && `${day} `) + own.clock + (node.dataset.time === "ms" ? ms : "");
  const past = now() - date.getTime();
  const ago = (past >= 0 ? words.ago : words.in).replace("{}", duration(Math.abs(past)));
  const full = `${own.day} ${own.clock}${ms} ${own.offset}`;
  const relative = choice.clock === "relative" && ["clock", "day"].includes(node.dataset.time);
  const age = node.dataset.time === "age" || node.dataset.time === "until";
  const span = node.dataset.time === "age" || past < 0 ? duration(Math.abs(past)) : words.overdue.replace("{}", duration(past));
  const axis = { minute: own.clock.slice(0, 5), date: own.day }[node.dataset.time];
  const text = axis ?? (age ? span : relative ? ago : exact);
  if (node.textContent !== text) node.textContent = text;
  node.title = `${full}${choice.zone === "utc" ? "" : ` = ${utc.clock}${ms} UTC`}${relative || age ? "" : ` · ${ago}`}`;
};

/** Write the moments in `root`, itself included: also of what is not on the page yet, so that it never shows UTC first. */
export const render = (root = document) => {
  if (root.matches?.("time[data-time]")) write(root);
  for (const node of root.querySelectorAll("time[data-time]")) write(node);
  for (const node of root.querySelectorAll("[data-zone-label]")) node.textContent = zoneName();
  const clock = words.clocks.split("|")[choice.clock === "relative" ? 1 : 0];
  for (const node of root.querySelectorAll("[data-clock-label]")) node.textContent = clock;
};

/** A moment of our own, `ms` since 1970 by the server's clock, as the reader wants it. */
export const moment = (ms) => {
  const time = document.createElement("time");
  time.dateTime = new Date(ms).toISOString();
  time.dataset.time = "clock";
  write(time);
  return time;
};

/** Moments that are shown as "3 min ago" grow older while the page stays open. */
export const grow = () => { if (choice.clock === "relative") for (const node of document.querySelectorAll("time[data-time=clock], time[data-time=day]")) write(node); };

document.addEventListener("pointerover", (event) => {
  const node = event.target.closest?.("time[data-time]");
  if (node) write(node); // its title says how long ago that is now
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-zone-toggle]")) save("zone", (choice.zone = choice.zone === "utc" ? "local" : "utc"));
  else if (event.target.closest("[data-clock-toggle]")) save("clock", (choice.clock = choice.clock === "exact" ? "relative" : "exact"));
  else return;
  render();
});
document.addEventListener("htmx:afterSettle", () => render());
render();
