/**
 * A naive model of client-go's work queue and rate limiter: the `queue`, `dirty` and `processing` of
 * util/workqueue/queue.go, the single entry per item of delaying_queue.go, and the loop of a controller (success forgets,
 * failure adds with a rate limit). Three rules are TMC's own: tenants are served round-robin, each has a concurrency limit,
 * and the start of a reconcile cancels the requeue of the previous one.
 */
export type ModelResult =
  | { kind: "done" }
  | { kind: "requeue"; afterSeconds: number }
  | { kind: "conflict" }
  | { kind: "unreachable" }
  | { kind: "forbidden" }
  | { kind: "bug" };

type Delayed = { key: string; source: "sender" | "reconcile"; atMs: number; order: number };

export class ClientGoModel {
  nowMs = 0;
  readonly started: string[] = [];
  deadLetters: string[] = [];
  processing: string[] = [];
  delayed: Delayed[] = [];
  readonly workers: number;
  readonly tenantConcurrency: number;
  readonly jitter: () => number;
  #queue: string[] = [];
  readonly #dirty = new Set<string>();
  /** Tenants in the order in which they are served; only tenants with keys in the queue. */
  #schedule: string[] = [];
  #order = 0;
  readonly #failures = new Map<string, number>();

  constructor(
    { workers, tenantConcurrency }: Readonly<{ workers: number; tenantConcurrency: number }>,
    jitter: () => number,
  ) {
    this.workers = workers;
    this.tenantConcurrency = tenantConcurrency;
    this.jitter = jitter;
  }

  get depth(): number {
    return this.#queue.length;
  }

  add(key: string): void {
    if (this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (!this.processing.includes(key)) this.#push(key);
  }

  addAfter(key: string, afterSeconds: number, source: Delayed["source"] = "sender"): void {
    const atMs = this.nowMs + afterSeconds * 1000;
    const present = this.delayed.find((delayed) => delayed.key === key && delayed.source === source);
    if (present !== undefined && present.atMs <= atMs) return;
    this.delayed = this.delayed.filter((delayed) => delayed !== present);
    this.delayed.push({ key, source, atMs, order: this.#order++ });
  }

  /** One `Get` per free worker. */
  work(): void {
    while (this.processing.length < this.workers) {
      const tenant = this.#schedule.shift();
      if (tenant === undefined) return;
      const inFlight = this.processing.filter((key) => tenantOf(key) === tenant).length;
      const index = this.#queue.findIndex((key) => tenantOf(key) === tenant);
      const [key = ""] = this.#queue.splice(index, 1);
      // A tenant at its limit is not scheduled until one of its keys is done.
      if (inFlight + 1 < this.tenantConcurrency) this.#scheduleTenant(tenant);
      this.#dirty.delete(key);
      this.processing.push(key);
      this.delayed = this.delayed.filter((delayed) => delayed.key !== key || delayed.source !== "reconcile");
      this.started.push(key);
    }
  }

  /** `Done`, and what a controller does after it. */
  done(key: string, result: ModelResult): void {
    this.processing = this.processing.filter((other) => other !== key);
    this.#scheduleTenant(tenantOf(key));
    if (this.#dirty.has(key)) this.#push(key);
    switch (result.kind) {
      case "done":
      case "requeue":
        this.#forget(key);
        this.deadLetters = this.deadLetters.filter((other) => other !== key);
        if (result.kind === "requeue") this.addAfter(key, result.afterSeconds, "reconcile");
        return;
      case "forbidden":
        this.jitter();
        this.#forget(key);
        return;
      case "bug": {
        const jitter = this.jitter();
        const times = this.#fail(key, "bug");
        if (times < 5) {
          this.addAfter(key, ([1, 2, 4, 8][times - 1] ?? 0) * jitter, "reconcile");
          return;
        }
        this.#forget(key);
        this.deadLetters = [...this.deadLetters.filter((other) => other !== key), key];
        return;
      }
      case "unreachable": {
        const jitter = this.jitter();
        const times = this.#fail(key, "unreachable");
        this.addAfter(key, Math.min(30, 2 ** (times - 1)) * jitter, "reconcile");
        return;
      }
      case "conflict": {
        const jitter = this.jitter();
        const times = this.#fail(key, "conflict");
        if (times === 1) this.add(key);
        else this.addAfter(key, ([0.02, 0.1, 1, 2, 4, 8, 16][times - 2] ?? 30) * jitter, "reconcile");
      }
    }
  }

  /** Advances the time; due items are added in the order of their times. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const [next] = this.delayed
        .filter(({ atMs }) => atMs <= untilMs)
        .toSorted((one, other) => one.atMs - other.atMs || one.order - other.order);
      if (next === undefined) break;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      this.delayed = this.delayed.filter((delayed) => delayed !== next);
      this.add(next.key);
    }
    this.nowMs = untilMs;
  }

  #push(key: string): void {
    this.#queue.push(key);
    if (this.processing.filter((other) => tenantOf(other) === tenantOf(key)).length < this.tenantConcurrency) {
      this.#scheduleTenant(tenantOf(key));
    }
  }

  #scheduleTenant(tenant: string): void {
    if (!this.#queue.some((key) => tenantOf(key) === tenant)) return;
    if (!this.#schedule.includes(tenant)) this.#schedule.push(tenant);
  }

  #fail(key: string, kind: string): number {
    const times = (this.#failures.get(`${key} ${kind}`) ?? 0) + 1;
    this.#failures.set(`${key} ${kind}`, times);
    return times;
  }

  #forget(key: string): void {
    for (const kind of ["bug", "unreachable", "conflict"]) this.#failures.delete(`${key} ${kind}`);
  }
}

function tenantOf(key: string): string {
  return key.slice(0, 1);
}
