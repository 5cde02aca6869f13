// Ages that grow each second: [data-age] holds the second something was read, time[data-time=age] the moment itself.
import { now } from "./clock.js";
import { duration } from "./duration.js";

let timer = 0;

const show = (node, since) => {
  if (!(since > 0)) return;
  const text = duration(now() - since);
  if (node.textContent !== text) node.textContent = text;
};

export const tick = () => {
  for (const node of document.querySelectorAll("[data-age]")) show(node, Number(node.dataset.age) * 1000);
  for (const node of document.querySelectorAll("time[data-time=age]")) show(node, new Date(node.dateTime).getTime());
};

const run = () => {
  clearInterval(timer);
  if (document.hidden) return;
  tick();
  timer = setInterval(tick, 1000);
};
document.addEventListener("visibilitychange", run);
run();
