// Seconds until a moment, counted down while the page stays open: data-countdown is the moment, data-over what is said
// once it is past. What then happens, the server does.
import { now } from "./clock.js";
import { duration } from "./duration.js";

const write = (node) => {
  const left = Number(node.dataset.countdown) - now();
  const text = left > 0 ? duration(Math.ceil(left / 1000) * 1000) : node.dataset.over;
  if (node.textContent !== text) node.textContent = text;
};
const tick = () => { for (const node of document.querySelectorAll("[data-countdown]")) write(node); };

if (document.querySelector("[data-countdown]")) {
  tick();
  setInterval(tick, 250);
}
