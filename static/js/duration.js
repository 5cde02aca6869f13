// Whole seconds of some milliseconds, as the server writes them; the words for the units come with the page.
const units = document.body.dataset.units.split("|");
const say = (unit, n) => units[unit].replace("{}", n.toLocaleString(document.documentElement.lang));
const two = (unit, large, small) => {
  const rest = Math.floor(small);
  const padded = unit < 3 ? String(rest).padStart(2, "0") : rest;
  return say(unit, Math.floor(large)) + (rest ? ` ${say(unit - 1, padded)}` : "");
};

export const duration = (ms) => {
  const n = Math.floor(Math.max(0, ms) / 1000);
  if (n < 60) return say(0, n);
  if (n < 3600) return two(1, n / 60, n % 60);
  if (n < 86400) return two(2, n / 3600, (n % 3600) / 60);
  return two(3, n / 86400, (n % 86400) / 3600);
};
