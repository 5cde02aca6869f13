// Runs scripts that tests send as JSON lines, with BullMQ 4, 5 and 6 at hand; tests/node.py speaks to it.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import path from "node:path";
import { failer } from "./failing.mjs";

const modules = path.resolve(process.env.BULLMQ_NODE_MODULES);
const require = createRequire(path.join(modules, "x.js"));
const lib = {};
for (const major of [4, 5, 6]) {
  Object.defineProperty(lib, major, { get: () => require(path.join(modules, `bullmq${major}`)) });
}
const Redis = require(path.join(modules, "ioredis"));
const AsyncFunction = (async () => {}).constructor;
const keep = {};
let opened = [];

// A job that fails on purpose, or a server that a test stops, must not end this process.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(probe, ms = 60000) {
  const deadline = Date.now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${probe}`);
    await sleep(10);
  }
}

function toolbox(url) {
  const { hostname, port, pathname } = new URL(url);
  const connection = { host: hostname, port: Number(port), db: Number(pathname.slice(1) || 0), maxRetriesPerRequest: null };
  const open = (made, close) => {
    made.on?.("error", () => {});
    opened.push(close ?? (() => made.close(true)));
    return made;
  };
  let client;
  const tools = {
    lib, keep, sleep, until, connection,
    queue: (major, name, opts = {}) => open(new lib[major].Queue(name, { connection, ...opts })),
    worker: (major, name, fn, opts = {}) => open(new lib[major].Worker(name, fn, { connection, ...opts })),
    flow: (major, opts = {}) => open(new lib[major].FlowProducer({ connection, ...opts })),
    events: (major, name, opts = {}) => open(new lib[major].QueueEvents(name, { connection, ...opts })),
    get redis() {
      client ??= open(new Redis(connection), () => client.disconnect());
      return client;
    },
  };
  return Object.defineProperties(tools, Object.getOwnPropertyDescriptors(failer(tools)));
}

async function run({ url, body, args }) {
  const tools = toolbox(url);
  return new AsyncFunction("tools", "args", `with (tools) { return await (async () => { ${body} })(); }`)(tools, args);
}

async function reset() {
  const closing = opened.reverse();
  opened = [];
  await Promise.race([Promise.allSettled(closing.map(async (close) => close())), sleep(5000)]);
  for (const key of Object.keys(keep)) delete keep[key];
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  let answer;
  try {
    answer = { value: (message.reset ? await reset() : await run(message)) ?? null };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
