// The age of the data on the page, counted up each second: [data-age] holds the second it was read.
import { duration } from "./duration.js";

const tick = () => {
  for (const node of document.querySelectorAll("[data-age]")) {
    node.textContent = duration(Date.now() - Number(node.dataset.age) * 1000);
  }
};
tick();
setInterval(tick, 1000);
