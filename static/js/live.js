// The page stays true: news through a socket, polling while there is none, and a word for which of both.
import { roleLost, signedOut } from "./banner.js";
import { fed } from "./feed.js";
import { logged } from "./log.js";
import { push } from "./patch.js";
import { entered } from "./pill.js";
import { refresh } from "./poll.js";
import { say } from "./say.js";
import { leave, opened, painted, parsed } from "./socket.js";
import { asOf, newestShown, show } from "./state.js";
import { after, clear, clearAll } from "./timers.js";
import { allFresh, rows, watched } from "./watched.js";

const SILENT = 8000;
const EVERY = 5000;
const HIDDEN = 10_000;
const address = document.body.dataset.liveSocket;
let socket = null;
let asked = null; // the socket that was told what is watched
let tries = 0;
let stopped = false; // asleep in a hidden tab
let over = false; // signed out: for good
let blind = null; // what the server says while it sees nothing: {since, why}

const send = (message) => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
const halt = () => {
  clearAll();
  due = false;
  if (socket) leave(socket);
  socket = asked = null;
};
const end = (session) => {
  over = true;
  halt();
  if (session) show("signed-out");
  else show("blind", { since: newestShown() });
  (session ? signedOut : roleLost)();
};

// Polling: also while the server says that it sees nothing of the events, as a page may still be readable.
const polled = async () => {
  const answer = await refresh();
  if (over || stopped || (socket && !blind && tries === 0)) return;
  if (answer.signedOut || answer.roleLost) return end(Boolean(answer.signedOut));
  if (blind) show("blind", blind);
  else if (answer.failed || answer.down) show("blind", { since: answer.down || newestShown(), why: answer.why });
  else show("polling");
  poll();
};
const poll = (soon = false) => after("poll", (soon ? 1000 : EVERY) * (0.9 + Math.random() * 0.2), polled);

// Sockets. A server that comes back must not meet all its readers in the same second.
const retry = () => {
  const most = Math.min(30_000, 2000 * 2 ** tries);
  tries += 1;
  after("connect", 1000 + Math.random() * (most - 1000), connect);
};
const lost = (code) => {
  socket = asked = null;
  blind = null;
  clear("silence");
  if (code === 4401 || code === 4403) return end(code === 4401);
  if (tries === 0) {
    show("polling");
    poll(true);
  }
  retry();
};
const watch = () => after("silence", SILENT, () => drop(socket));
const drop = (silent) => {
  if (!silent || silent !== socket) return;
  leave(silent); // half open, that may take minutes: it is not waited for
  lost(0);
};

const pulse = ({ pulse: state, since, why = "", rate = null, at }) => {
  asOf(at);
  const was = blind;
  blind = state === "blind" ? { since: since ?? newestShown(), why } : null;
  show(state, { since: blind?.since, why, rate });
  if (blind && !was) poll(true);
  if (blind) return;
  clear("poll");
  allFresh();
};
// Some pages are drawn for nobody else: they are told that something changed, and are fetched anew a while later.
let due = false;
const again = () => {
  if (due || !document.getElementById("live")?.hasAttribute("data-again")) return;
  due = true;
  after("again", EVERY, () => { due = false; refresh(); });
};
const take = (from, text) => {
  if (from !== socket) return;
  watch();
  tries = 0;
  const frame = parsed(text);
  if (!frame) return drop(from);
  push(frame.parts ?? {});
  if (frame.parts) again();
  if (frame.feed) fed(frame.feed);
  if (frame.log) logged(frame.log);
  if (frame.entered) entered(frame.entered);
  if (frame.say) say("news", frame.say);
  pulse(frame);
  painted(() => { if (from === socket) send({ ack: frame.n }); });
};

const open = async (fresh, again) => {
  // What was missed meanwhile is fetched before news are asked for: they then go on from there.
  const answer = again ? await refresh() : {};
  if (fresh !== socket) return;
  if (answer.signedOut || answer.roleLost) return end(Boolean(answer.signedOut));
  send({ watch: watched(), rows: rows() });
  asked = fresh;
  watch();
};
let before = false; // whether news came, or should have come, earlier on this page
const connect = () => {
  if (over || stopped || socket) return;
  const fresh = (socket = opened(address));
  const again = before;
  before = true;
  fresh.onopen = () => open(fresh, again);
  fresh.onmessage = (event) => take(fresh, event.data);
  fresh.onclose = (event) => { if (fresh === socket) lost(event.code); };
  watch();
};

const sleep = () => { stopped = true; blind = null; halt(); };
const wake = () => {
  clear("sleep");
  if (!stopped || over) return;
  stopped = false;
  tries = 0;
  show("catching-up");
  refresh();
  connect();
};
if (address && watched()) {
  connect();
  if (document.hidden) after("sleep", HIDDEN, sleep);
  document.addEventListener("htmx:afterSettle", () => { if (asked && rows().length) send({ rows: rows() }); });
  document.addEventListener("visibilitychange", () => (document.hidden ? after("sleep", HIDDEN, sleep) : wake()));
  addEventListener("online", () => { if (!socket && !stopped && !over) { clear("connect"); connect(); } });
  addEventListener("pagehide", sleep);
  addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
}
