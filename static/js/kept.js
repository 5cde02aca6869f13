// What was typed into form[data-keeps] outlives a lost session: it is kept in this tab alone while one types, and comes
// back where the page is reached through the sign-in page, or by going back. Else what the server says is right.
const form = document.querySelector("form[data-keeps]");
const OURS = new Set(["csrfmiddlewaretoken", "key", "sure"]);
const name = `mirante:${form?.dataset.keeps}:${location.pathname}`;

const fields = () => [...form.elements].filter((field) => field.name && !OURS.has(field.name) && field.type !== "hidden");
const ticked = (field) => field.type === "checkbox" || field.type === "radio";
const value = (field) => (ticked(field) ? field.checked : field.value);
const keep = () => {
  try { sessionStorage.setItem(name, JSON.stringify(fields().map((field) => [field.name, field.value, value(field)]))); } catch { /* full, or forbidden */ }
};
const kept = () => { try { return JSON.parse(sessionStorage.getItem(name)) ?? []; } catch { return []; } };
const forget = () => { try { sessionStorage.removeItem(name); } catch { /* forbidden */ } };

const comesBack = () => {
  if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") return true;
  try { return new URL(document.referrer).pathname === document.body.dataset.login; } catch { return false; }
};
const put = () => {
  for (const [fieldName, own, was] of kept()) {
    const found = fields().find((field) => field.name === fieldName && (!ticked(field) || field.value === own));
    if (!found) continue;
    if (ticked(found)) found.checked = was;
    else found.value = was;
  }
  for (const fold of form.querySelectorAll("details:has(textarea)")) if (fold.querySelector("textarea").value) fold.open = true;
  form.dispatchEvent(new Event("change", { bubbles: true })); // so that what depends on it follows
};

if (form) {
  // Whoever follows the form has to be listening by then.
  if (comesBack()) document.addEventListener("DOMContentLoaded", put);
  else forget();
  form.addEventListener("input", keep);
  form.addEventListener("change", keep);
  // Whoever signs in after somebody has signed out begins with what the server says.
  document.addEventListener("submit", (event) => { if (event.target.getAttribute("action")?.endsWith("/logout/")) forget(); });

  // The reader's own time zone is proposed where none was chosen.
  const hours = form.elements.hours_on;
  hours?.addEventListener("change", () => {
    const { zone } = form.elements;
    if (hours.checked && zone.value === "UTC") zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
  });
}
