// The answer to a form that was refused is the page of what it was about: read anew, that page is asked for and nothing
// is sent again, by whoever reads it anew.
const at = document.querySelector("[data-at]")?.dataset.at;
if (at) history.replaceState(null, "", at);
