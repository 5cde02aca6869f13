// Bull Board over one queue, as its documentation sets it up, and beside it BullMQ's own call: one route each.
import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import { ExpressAdapter } from "@bull-board/express";
import { Queue } from "bullmq";
import express from "express";

const [port, name] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };
const queue = new Queue(name, { connection });
await queue.waitUntilReady();

const adapter = new ExpressAdapter();
createBullBoard({ queues: [new BullMQAdapter(queue)], serverAdapter: adapter });
const app = express();
app.put("/bullmq/retry", async (request, answer) => {
  await queue.retryJobs({ state: "failed" });
  answer.json({});
});
app.use("/", adapter.getRouter());
const server = app.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
server.requestTimeout = 0;
server.keepAliveTimeout = 0;
