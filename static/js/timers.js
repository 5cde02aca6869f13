// Timers with names: one of each runs at most, and all can be stopped at once.
const running = new Map();

export const clear = (name) => {
  clearTimeout(running.get(name));
  running.delete(name);
};
export const after = (name, ms, call) => {
  clear(name);
  running.set(name, setTimeout(() => { running.delete(name); call(); }, ms));
};
export const clearAll = () => { for (const name of [...running.keys()]) clear(name); };
