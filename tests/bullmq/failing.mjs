// The ways in which jobs fail in life: a job fails as its data says, by a real worker of any major.
// (Where null or undefined is thrown BullMQ itself stumbles: the job stays active and no event tells of it.)

export class PaymentError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "PaymentError";
  }
}

const refused = (n) => Object.assign(new Error(`connect ECONNREFUSED 10.0.0.${n % 250}:5432`), { code: "ECONNREFUSED" });

export const ways = {
  error: (n) => { throw new Error(`order ${n} cannot be charged`); },
  code: (n) => { throw refused(n); },
  cause: (n) => { throw new Error(`invoice ${n} not sent`, { cause: refused(n) }); },
  custom: (n) => { throw new PaymentError(`card of customer ${n} was declined`); },
  type: (n) => [undefined, n][0].total,
  syntax: (n) => JSON.parse(`{"order": ${n}`),
  aggregate: (n) => { throw new AggregateError([refused(n)], `${n} of 9000 channels failed`); },
  object: (n) => { throw { message: `refused with ticket ${n}`, ticket: n }; },
  string: (n) => { throw `no luck with ${n}`; },
  number: (n) => { throw n; },
  empty: () => { throw new Error(); },
  huge: (n) => { throw new Error(`dump of ${n}: ${"x".repeat(2 ** 20)}`); },
  markup: (n) => { throw new Error(`<script>alert(${n})</script> \u001b[31m\u0000 \ud800`); },
  unrecoverable: (n, lib) => { throw new lib.UnrecoverableError(`contract ${n} has ended`); },
};

export function failer(tools) {
  const { lib, queue, worker, until, sleep } = tools;
  const opened = {};

  // One worker for each queue and major, which lives until `reset`. With `letters` it posts each final failure there.
  const failing = (major, name, { letters, ...opts } = {}) => {
    const key = JSON.stringify([major, name, letters]);
    opened[key] ??= worker(major, name, async (job) => ways[job.data.way](job.data.n, lib[major]), { drainDelay: 1, ...opts });
    if (letters && !opened[key].posts) {
      const box = queue(major, letters);
      opened[key].posts = true;
      opened[key].on("failed", (job, error) => job && job.attemptsMade >= (job.opts.attempts ?? 1) && box.add(job.name, letter(job, error)));
    }
    return opened[key];
  };

  const letter = (job, error) => ({
    queue: job.queueName, jobId: job.id, name: job.name, data: job.data, failedAt: job.finishedOn ?? Date.now(),
    attempts: job.attemptsMade, error: error?.message, stack: error?.stack,
  });

  // Adds a job for each of `list` and waits until a worker is done with all: the ids.
  const fail = async (major, name, list, { opts = {}, jobName = "charge", from = 0, ...working } = {}) => {
    const q = queue(major, name);
    failing(major, name, working);
    const jobs = await q.addBulk(list.map((way, n) => ({ name: jobName, data: { way, n: from + n }, opts })));
    const busy = ["wait", "active", "delayed", "prioritized"];
    await until(async () => Object.values(await q.getJobCounts(...(major === 4 ? busy.slice(0, 3) : busy))).every((n) => n === 0));
    return jobs.map((job) => job.id);
  };

  // Jobs whose worker dies over them and that stalled once more than allowed.
  const stall = async (major, name, count) => {
    const q = queue(major, name);
    const hasty = { maxStalledCount: 0, stalledInterval: 200, lockDuration: 300 };
    const dying = worker(major, name, () => new Promise(() => {}), { ...hasty, concurrency: count });
    await q.addBulk(Array.from({ length: count }, (_, n) => ({ name: "resize", data: { n } })));
    await until(async () => (await q.getActiveCount()) === count);
    await Promise.race([dying.close(true), sleep(1000)]);
    const finding = worker(major, name, async () => "fine", hasty);
    await until(async () => (await q.getFailedCount()) >= count);
    await finding.close();
  };

  return { ways: Object.keys(ways), failing, fail, stall };
}
