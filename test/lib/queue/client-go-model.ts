/**
 * client-go's work queue and rate limiter, written down as plainly as can be: the `queue`, `dirty` and `processing` of
 * util/workqueue/queue.go, the one entry per item of delaying_queue.go, and the loop of a controller around them
 * (success forgets, failure adds with a limit on its rate). Three things are ours: tenants take turns, none has more in work
 * than its share, and the beginning of a run takes back what the run before it wanted.
 */
export type ModelEnding =
  | { kind: "done" }
  | { kind: "requeue"; afterSeconds: number }
  | { kind: "conflict" }
  | { kind: "unreachable" }
  | { kind: "forbidden" }
  | { kind: "bug" };

type Waiting = { key: string; by: "sender" | "run"; atMs: number; order: number };

export class ClientGoModel {
  nowMs = 0;
  readonly started: string[] = [];
  setAside: string[] = [];
  processing: string[] = [];
  waiting: Waiting[] = [];
  readonly workers: number;
  readonly share: number;
  readonly jitter: () => number;
  #queue: string[] = [];
  readonly #dirty = new Set<string>();
  /** Tenants in the order of their next turn; only those with something in the queue. */
  #turns: string[] = [];
  #order = 0;
  readonly #failures = new Map<string, number>();

  constructor({ workers, share }: Readonly<{ workers: number; share: number }>, jitter: () => number) {
    this.workers = workers;
    this.share = share;
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

  addAfter(key: string, afterSeconds: number, by: Waiting["by"] = "sender"): void {
    const atMs = this.nowMs + afterSeconds * 1000;
    const present = this.waiting.find((one) => one.key === key && one.by === by);
    if (present !== undefined && present.atMs <= atMs) return;
    this.waiting = this.waiting.filter((one) => one !== present);
    this.waiting.push({ key, by, atMs, order: this.#order++ });
  }

  /** As many `Get`s as there are free workers. */
  work(): void {
    while (this.processing.length < this.workers) {
      const tenant = this.#turns.shift();
      if (tenant === undefined) return;
      const inWork = this.processing.filter((key) => tenantOf(key) === tenant).length;
      const index = this.#queue.findIndex((key) => tenantOf(key) === tenant);
      const [key = ""] = this.#queue.splice(index, 1);
      // One that has its share waits without a turn until one of its keys is done.
      if (inWork + 1 < this.share) this.#giveTurn(tenant);
      this.#dirty.delete(key);
      this.processing.push(key);
      this.waiting = this.waiting.filter((one) => one.key !== key || one.by !== "run");
      this.started.push(key);
    }
  }

  /** `Done`, and what a controller does with the result. */
  done(key: string, ending: ModelEnding): void {
    this.processing = this.processing.filter((other) => other !== key);
    this.#giveTurn(tenantOf(key));
    if (this.#dirty.has(key)) this.#push(key);
    switch (ending.kind) {
      case "done":
      case "requeue":
        this.#forget(key);
        this.setAside = this.setAside.filter((other) => other !== key);
        if (ending.kind === "requeue") this.addAfter(key, ending.afterSeconds, "run");
        return;
      case "forbidden":
        this.jitter();
        this.#forget(key);
        return;
      case "bug": {
        const jitter = this.jitter();
        const times = this.#fail(key, "bug");
        if (times < 5) {
          this.addAfter(key, ([1, 2, 4, 8][times - 1] ?? 0) * jitter, "run");
          return;
        }
        this.#forget(key);
        this.setAside = [...this.setAside.filter((other) => other !== key), key];
        return;
      }
      case "unreachable": {
        const jitter = this.jitter();
        const times = this.#fail(key, "unreachable");
        this.addAfter(key, Math.min(30, 2 ** (times - 1)) * jitter, "run");
        return;
      }
      case "conflict": {
        const jitter = this.jitter();
        const times = this.#fail(key, "conflict");
        if (times === 1) this.add(key);
        else this.addAfter(key, ([0.02, 0.1, 1, 2, 4, 8, 16][times - 2] ?? 30) * jitter, "run");
      }
    }
  }

  /** Moves time; what falls due is added in the order of its time. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const [next] = this.waiting
        .filter(({ atMs }) => atMs <= untilMs)
        .toSorted((one, other) => one.atMs - other.atMs || one.order - other.order);
      if (next === undefined) break;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      this.waiting = this.waiting.filter((one) => one !== next);
      this.add(next.key);
    }
    this.nowMs = untilMs;
  }

  #push(key: string): void {
    this.#queue.push(key);
    if (this.processing.filter((other) => tenantOf(other) === tenantOf(key)).length < this.share) {
      this.#giveTurn(tenantOf(key));
    }
  }

  #giveTurn(tenant: string): void {
    if (!this.#queue.some((key) => tenantOf(key) === tenant)) return;
    if (!this.#turns.includes(tenant)) this.#turns.push(tenant);
  }

  #fail(key: string, sort: string): number {
    const times = (this.#failures.get(`${key} ${sort}`) ?? 0) + 1;
    this.#failures.set(`${key} ${sort}`, times);
    return times;
  }

  #forget(key: string): void {
    for (const sort of ["bug", "unreachable", "conflict"]) this.#failures.delete(`${key} ${sort}`);
  }
}

function tenantOf(key: string): string {
  return key.slice(0, 1);
}
