// Ages that grow each second: [data-age] holds the second something was read, time[data-time=age] the moment itself;
// time[data-time=until] counts down to its moment.
import { now } from "./clock.js";
import { duration } from "./duration.js";
import { grow, render } from "./time.js";

let timer = 0;
let ticks = 0;

const selected = (node) => {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(node, true);
};
const show = (node, since) => {
  if (!(since > 0)) return;
  const text = duration(now() - since);
  if (node.textContent !== text && !selected(node)) node.textContent = text;
};

export const tick = () => {
  for (const node of document.querySelectorAll("[data-age]")) show(node, Number(node.dataset.age) * 1000);
  for (const node of document.querySelectorAll("time[data-time=age]")) show(node, new Date(node.dateTime).getTime());
  for (const node of document.querySelectorAll("time[data-time=until]")) if (!selected(node)) render(node);
  ticks += 1;
  if (ticks % 10 === 0) grow();
};

const run = () => {
  clearInterval(timer);
  if (document.hidden) return;
  tick();
  timer = setInterval(tick, 1000);
};
document.addEventListener("visibilitychange", run);
run();
