// What came from the server after the page was: parsed where nothing runs or loads, and refused if it could act.
const parser = new DOMParser();
const ACTS = "script, style, link, meta, base, iframe, frame, object, embed, img, audio, video, form, input, button, select, textarea, dialog, template, foreignObject, animate, set";
const ATTRIBUTE = /^(on|hx-|data-hx-|ws-|sse-|style$|src|srcdoc$|action$|formaction$|autofocus$|contenteditable$)/i;

const own = (address) => address.startsWith("/") && !address.startsWith("//") && !address.startsWith("/\\");
const plain = (node, links) => [...node.attributes].every(({ name, value }) => {
  if (!/^(xlink:)?href$/i.test(name)) return !ATTRIBUTE.test(name);
  return value.startsWith("#") || (links && node.localName === "a" && own(value));
});

/** Whether an element can do nothing but be looked at; with `links` it may also lead to a page of ours. */
export const inert = (element, links = false) => {
  const all = [element, ...element.querySelectorAll("*")];
  return all.every((node) => !node.matches(ACTS) && (links || node.localName !== "a") && plain(node, links));
};

/** The elements of some markup, as they are the top of a document of their own. */
export const parse = (html) => [...parser.parseFromString(String(html), "text/html").body.children];
export const parseDocument = (html) => parser.parseFromString(html, "text/html");
