// Milliseconds in words, as the server writes them; `whole` drops fractions of a second.
const two = (n) => String(n).padStart(2, "0");

export const duration = (ms, whole = false) => {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 59.95) return whole ? `${Math.floor(seconds)} s` : `${seconds.toFixed(1)} s`;
  const n = Math.round(seconds);
  if (n < 3600) return `${Math.floor(n / 60)} m ${two(n % 60)} s`;
  if (n < 86400) return `${Math.floor(n / 3600)} h ${two(Math.floor((n % 3600) / 60))} m`;
  return `${Math.floor(n / 86400)} d ${Math.floor((n % 86400) / 3600)} h`;
};
