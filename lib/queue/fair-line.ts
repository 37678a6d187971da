/** A waiting line in which every tenant has a line of its own, and the tenants are served in turn. */
export interface FairLine<T> {
  readonly length: number;
  join(tenant: string, member: T): void;
  /** The first of the tenant whose turn it is, which is served from now on; undefined when nobody may be served. */
  next(): T | undefined;
  /** Ends the service of one of a tenant's members. */
  done(tenant: string): void;
}

export type FairLineOptions = Readonly<{
  /** As many members of one tenant are served at once; the others are passed over meanwhile. @default any number */
  mostServed?: number | undefined;
  /** In how many milliseconds the next member of a tenant may be served; 0 for now. @default always now */
  restMs?: ((tenant: string) => number) | undefined;
  /** Has the tenants' turns looked at again after that time. */
  wakeAfter?: ((ms: number, wake: () => void) => void) | undefined;
}>;

/** A tenant that has members waiting or served; nothing is kept of any other. */
type Tenant<T> = { readonly line: Line<T>; served: number; hasTurn: boolean };

/**
 * Creates a line in which a tenant with ten thousand members delays the first of another by one place, and in which one whose
 * members take long to serve leaves room for others.
 */
export function createFairLine<T>(options: FairLineOptions = {}): FairLine<T> {
  const { mostServed = Number.POSITIVE_INFINITY, restMs, wakeAfter } = options;
  const tenants = new Map<string, Tenant<T>>();
  const turns = createLine<string>();
  let length = 0;

  /** A tenant has one turn at a time, and none while it can make no use of it. */
  const giveTurn = (name: string, tenant: Tenant<T>): void => {
    if (tenant.hasTurn || tenant.line.length === 0 || tenant.served >= mostServed) return;
    tenant.hasTurn = true;
    turns.join(name);
  };

  /** Whose turn it is; who has to rest keeps his turn until then, and holds up nobody. */
  const nextTurn = (): string | undefined => {
    for (;;) {
      const name = turns.next();
      const ms = name === undefined ? 0 : (restMs?.(name) ?? 0);
      if (name === undefined || ms <= 0 || wakeAfter === undefined) return name;
      wakeAfter(ms, () => turns.join(name));
    }
  };

  return {
    get length() {
      return length;
    },
    join: (name, member) => {
      const tenant = tenants.get(name) ?? { line: createLine<T>(), served: 0, hasTurn: false };
      tenants.set(name, tenant);
      tenant.line.join(member);
      length += 1;
      giveTurn(name, tenant);
    },
    next: () => {
      const name = nextTurn();
      const tenant = name === undefined ? undefined : tenants.get(name);
      if (name === undefined || tenant === undefined) return undefined;
      const member = tenant.line.next();
      length -= 1;
      tenant.hasTurn = false;
      tenant.served += 1;
      giveTurn(name, tenant);
      return member;
    },
    done: (name) => {
      const tenant = tenants.get(name);
      if (tenant === undefined) return;
      tenant.served -= 1;
      giveTurn(name, tenant);
      if (tenant.served === 0 && tenant.line.length === 0) tenants.delete(name);
    },
  };
}

interface Line<T> {
  readonly length: number;
  join(member: T): void;
  next(): T | undefined;
}

/** First in, first out. `shift` moves every member of a long array; a head that walks moves them only now and then. */
function createLine<T>(): Line<T> {
  let members: (T | undefined)[] = [];
  let head = 0;
  return {
    get length() {
      return members.length - head;
    },
    join: (member) => {
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
