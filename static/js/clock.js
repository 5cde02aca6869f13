// The server's clock as this browser can tell it: ages on the page must be right where the reader's clock is not.
const read = (doc) => Number(doc.body?.dataset.now);
// A difference that small may be the way from the server to here.
const TOLERATED = 2000;
let skew = 0;

/** Learn from a page that was just received, at `heard` by this clock. */
export const learn = (doc, heard) => {
  const said = read(doc);
  if (!(said > 0)) return;
  skew = Math.abs(heard - said) > TOLERATED ? heard - said : 0;
};
export const now = () => Date.now() - skew;

const [entry] = performance.getEntriesByType("navigation");
learn(document, performance.timeOrigin + (entry?.responseStart ?? 0));
