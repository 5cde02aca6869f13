// Rows that came twice while more were loaded (the order moved meanwhile): the first one stays.
document.addEventListener("htmx:afterSettle", () => {
  const seen = new Set();
  for (const row of document.querySelectorAll("tr[data-queue]")) {
    if (seen.has(row.dataset.queue)) row.remove();
    seen.add(row.dataset.queue);
  }
});
