// Ages that grow each second: [data-age] holds the second something was read, time[data-time=age] the moment itself;
// time[data-time=until] counts down to its moment.
import { now } from "./clock.js";
import { duration } from "./duration.js";
import { grow, render } from "./time.js";

let timer = 0;
let ticks = 0;

// All is asked before anything is written: asking for the selection after each writing lays the page out each time.
const free = (selector) => {
  const selection = document.getSelection();
  const found = [...document.querySelectorAll(selector)];
  return selection === null || selection.isCollapsed ? found : found.filter((node) => !selection.containsNode(node, true));
};
const show = (node, since) => {
  if (!(since > 0)) return;
  const text = duration(now() - since);
  if (node.textContent !== text) node.textContent = text;
};

export const tick = () => {
  const [read, ages, untils] = ["[data-age]", "time[data-time=age]", "time[data-time=until]"].map(free);
  for (const node of read) show(node, Number(node.dataset.age) * 1000);
  for (const node of ages) show(node, new Date(node.dateTime).getTime());
  for (const node of untils) render(node);
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
