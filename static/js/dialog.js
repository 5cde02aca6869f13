// Buttons that open a dialog: data-opens names its id. Closing needs no script (form method=dialog).
export const open = (id) => {
  const dialog = document.getElementById(id);
  if (dialog && !dialog.open) dialog.showModal();
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-opens]");
  if (button) open(button.dataset.opens);
});
