// A log opens at its end, where its newest lines are; from then on it stays where the reader is.
const end = () => {
  const log = document.getElementById("log-lines");
  if (log) log.scrollTop = log.scrollHeight;
};
end();
document.addEventListener("htmx:afterSettle", (event) => { if (event.target.id === "logs") end(); });
