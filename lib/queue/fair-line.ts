/** A waiting line in which every tenant has a line of its own, and the tenants are served in turn. */
export interface FairLine<T> {
  readonly length: number;
  join(tenant: string, member: T): void;
  /** The first of the tenant whose turn it is; undefined when nobody waits. */
  next(): T | undefined;
}

/**
 * Creates a line in which a tenant with ten thousand members delays the first of another by one place. Tenants that
 * have nobody waiting cost nothing.
 */
export function createFairLine<T>(): FairLine<T> {
  const lines = new Map<string, Line<T>>();
  const turns = createLine<string>();
  let length = 0;
  return {
    get length() {
      return length;
    },
    join: (tenant, member) => {
      let line = lines.get(tenant);
      if (line === undefined) {
        line = createLine();
        lines.set(tenant, line);
        turns.join(tenant);
      }
      line.join(member);
      length += 1;
    },
    next: () => {
      if (length === 0) return undefined;
      const tenant = turns.next();
      const line = tenant === undefined ? undefined : lines.get(tenant);
      if (tenant === undefined || line === undefined) return undefined;
      const member = line.next();
      length -= 1;
      if (line.length > 0) turns.join(tenant);
      else lines.delete(tenant);
      return member;
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
