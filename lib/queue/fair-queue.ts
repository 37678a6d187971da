/** A queue with a FIFO per tenant that serves the tenants round-robin. */
export interface FairQueue<T> {
  readonly length: number;
  /** Adds a member. Low-priority members wait for the others of their tenant, but every eighth turn is theirs. */
  add(tenant: string, member: T, options?: Readonly<{ isLowPriority: boolean }>): void;
  /** Gives a waiting low-priority member normal priority. */
  promote(tenant: string, member: T): void;
  /** Takes the next member, which is in flight until `done`; undefined while no tenant may be served. */
  next(): T | undefined;
  /** One member of a tenant is no longer in flight. */
  done(tenant: string): void;
}

export type FairQueueOptions = Readonly<{
  /** Members of one tenant that may be in flight; a tenant at its limit is skipped. @default no limit */
  maxInFlight?: number | undefined;
  /** Milliseconds until the next member of a tenant may be served; 0 for now. @default always 0 */
  waitMs?: ((tenant: string) => number) | undefined;
  /** Calls `retry` after that time, and has the caller ask for the next member again. */
  retryAfter?: ((ms: number, retry: () => void) => void) | undefined;
}>;

/** A tenant with members that wait or are in flight; nothing is kept of any other. */
type Tenant<T> = {
  readonly normal: Fifo<T>;
  readonly lowPriority: RemovableFifo<T>;
  /** Normal members served since the last low-priority one. */
  normalInARow: number;
  inFlight: number;
  isScheduled: boolean;
};

/** Then a low-priority member is served, so that none starves. */
const maxNormalInARow = 7;

/**
 * Creates a fair queue. A tenant with ten thousand members delays the first member of another tenant by one turn, and a
 * tenant whose members are slow leaves capacity to others.
 */
export function createFairQueue<T>(options: FairQueueOptions = {}): FairQueue<T> {
  const { maxInFlight = Number.POSITIVE_INFINITY, waitMs, retryAfter } = options;
  const tenants = new Map<string, Tenant<T>>();
  const schedule = createFifo<string>();
  let length = 0;

  /** Gives a tenant its next turn. It has one at a time, and none while it could not use it. */
  const scheduleTenant = (name: string, tenant: Tenant<T>): void => {
    if (tenant.isScheduled || waitingCount(tenant) === 0 || tenant.inFlight >= maxInFlight) return;
    tenant.isScheduled = true;
    schedule.add(name);
  };

  /** The tenant whose turn it is. A tenant that has to wait returns to the schedule after its time and delays no other. */
  const nextTenant = (): string | undefined => {
    for (;;) {
      const name = schedule.next();
      const ms = name === undefined ? 0 : (waitMs?.(name) ?? 0);
      if (name === undefined || ms <= 0 || retryAfter === undefined) return name;
      retryAfter(ms, () => schedule.add(name));
    }
  };

  return {
    get length() {
      return length;
    },
    add: (name, member, { isLowPriority } = { isLowPriority: false }) => {
      const tenant = tenants.get(name) ?? {
        normal: createFifo<T>(),
        lowPriority: createRemovableFifo<T>(),
        normalInARow: 0,
        inFlight: 0,
        isScheduled: false,
      };
      tenants.set(name, tenant);
      (isLowPriority ? tenant.lowPriority : tenant.normal).add(member);
      length += 1;
      scheduleTenant(name, tenant);
    },
    promote: (name, member) => {
      const tenant = tenants.get(name);
      if (tenant?.lowPriority.remove(member) === true) tenant.normal.add(member);
    },
    next: () => {
      const name = nextTenant();
      const tenant = name === undefined ? undefined : tenants.get(name);
      if (name === undefined || tenant === undefined) return undefined;
      const member = takeNext(tenant);
      length -= 1;
      tenant.isScheduled = false;
      tenant.inFlight += 1;
      scheduleTenant(name, tenant);
      return member;
    },
    done: (name) => {
      const tenant = tenants.get(name);
      if (tenant === undefined) return;
      tenant.inFlight -= 1;
      scheduleTenant(name, tenant);
      if (tenant.inFlight === 0 && waitingCount(tenant) === 0) tenants.delete(name);
    },
  };
}

function waitingCount<T>({ normal, lowPriority }: Tenant<T>): number {
  return normal.length + lowPriority.length;
}

function takeNext<T>(tenant: Tenant<T>): T | undefined {
  const { normal, lowPriority } = tenant;
  if (normal.length > 0 && (lowPriority.length === 0 || tenant.normalInARow < maxNormalInARow)) {
    tenant.normalInARow += 1;
    return normal.next();
  }
  tenant.normalInARow = 0;
  return lowPriority.next();
}

interface Fifo<T> {
  readonly length: number;
  add(member: T): void;
  next(): T | undefined;
}

/** An array with a moving head: `shift` would move every member of a long array at each call. */
function createFifo<T>(): Fifo<T> {
  let members: (T | undefined)[] = [];
  let head = 0;
  return {
    get length() {
      return members.length - head;
    },
    add: (member) => {
      members.push(member);
    },
    next: () => {
      const member = members[head];
      members[head] = undefined;
      if (head < members.length) head += 1;
      if (head >= 64 && head * 2 >= members.length) {
        members = members.slice(head);
        head = 0;
      }
      return member;
    },
  };
}

interface RemovableFifo<T> extends Fifo<T> {
  /** Removes a member from any position; false if it is not here. */
  remove(member: T): boolean;
}

/** A set with one iterator that keeps its position, so that neither `next` nor `remove` searches. */
function createRemovableFifo<T>(): RemovableFifo<T> {
  const members = new Set<T>();
  let iterator = members.values();
  return {
    get length() {
      return members.size;
    },
    add: (member) => {
      // An iterator that has reached the end of a set stays exhausted.
      if (members.size === 0) iterator = members.values();
      members.add(member);
    },
    next: () => {
      const { value } = iterator.next();
      if (value !== undefined) members.delete(value);
      return value;
    },
    remove: (member) => members.delete(member),
  };
}
