// What stands across the page when nothing more will come: signed out, or no right to see it any longer.
const words = document.body.dataset;

const raise = (text, label, href) => {
  const place = document.getElementById("live-banner");
  if (!place || place.childElementCount) return;
  const link = document.createElement("a");
  link.href = href;
  link.textContent = label;
  const said = document.createElement("p");
  said.append(text, " ", link);
  const notice = document.createElement("div");
  notice.className = "notice bad bare";
  notice.setAttribute("role", "alert");
  notice.append(said);
  place.append(notice);
};
const here = () => location.pathname + location.search;

export const signedOut = () => raise(words.signedOut, words.signIn, `${words.login}?next=${encodeURIComponent(here())}`);
export const roleLost = () => raise(words.roleLost, words.reload, here());
