// Web sockets below the page's own address.

/** Open one; `path` is absolute. */
export const opened = (path) => {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  return new WebSocket(url);
};

/** Leave one: nothing that it says is heard any longer. A browser complains of one that is closed while it opens. */
export const leave = (socket) => {
  socket.onclose = socket.onmessage = null;
  socket.onopen = () => socket.close();
  if (socket.readyState === WebSocket.OPEN) socket.close();
};

/** What a frame says; null when it makes no sense. */
export const parsed = (text) => {
  try {
    const frame = JSON.parse(text);
    return Number.isInteger(frame?.n) ? frame : null;
  } catch {
    return null;
  }
};

/** Call when the screen shows what was changed by now, or would show it. */
export const painted = (call) => {
  if (document.hidden) return call();
  let called = false;
  const once = () => { if (!called) { called = true; call(); } };
  requestAnimationFrame(once);
  setTimeout(once, 500);
};
