/** A waiting line in which every tenant has a line of its own, and the tenants are served in turn. */
export interface FairLine<T> {
  readonly length: number;
  /** One that is patient lets others of its tenant go first, but for one of eight. */
  join(tenant: string, member: T, manner?: Readonly<{ isPatient: boolean }>): void;
  /** Has one that was patient, and still waits, go before those that are. */
  hurry(tenant: string, member: T): void;
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
type Tenant<T> = {
  readonly line: Line<T>;
  readonly patient: PatientLine<T>;
  /** How many have gone before the patient ones since one of those was served. */
  passed: number;
  served: number;
  hasTurn: boolean;
};

/** Whoever is patient is served after so many others: however much happens, everybody is looked at some day. */
const mostPassed = 7;

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
    if (tenant.hasTurn || waitingOf(tenant) === 0 || tenant.served >= mostServed) return;
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
    join: (name, member, { isPatient } = { isPatient: false }) => {
      const tenant = tenants.get(name) ?? {
        line: createLine<T>(),
        patient: createPatientLine<T>(),
        passed: 0,
        served: 0,
        hasTurn: false,
      };
      tenants.set(name, tenant);
      (isPatient ? tenant.patient : tenant.line).join(member);
      length += 1;
      giveTurn(name, tenant);
    },
    hurry: (name, member) => {
      const tenant = tenants.get(name);
      if (tenant?.patient.leave(member) === true) tenant.line.join(member);
    },
    next: () => {
      const name = nextTurn();
      const tenant = name === undefined ? undefined : tenants.get(name);
      if (name === undefined || tenant === undefined) return undefined;
      const member = nextOf(tenant);
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
      if (tenant.served === 0 && waitingOf(tenant) === 0) tenants.delete(name);
    },
  };
}

function waitingOf<T>({ line, patient }: Tenant<T>): number {
  return line.length + patient.length;
}

function nextOf<T>(tenant: Tenant<T>): T | undefined {
  const { line, patient } = tenant;
  if (line.length > 0 && (patient.length === 0 || tenant.passed < mostPassed)) {
    tenant.passed += 1;
    return line.next();
  }
  tenant.passed = 0;
  return patient.next();
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

interface PatientLine<T> extends Line<T> {
  /** Takes one out, wherever it stands; false where it does not wait here. */
  leave(member: T): boolean;
}

/** First in, first out, and anybody may leave. A walk over a set goes on behind those that have left. */
function createPatientLine<T>(): PatientLine<T> {
  const members = new Set<T>();
  let walk = members.values();
  return {
    get length() {
      return members.size;
    },
    join: (member) => {
      // A walk that has come to its end stays there.
      if (members.size === 0) walk = members.values();
      members.add(member);
    },
    next: () => {
      const { value } = walk.next();
      if (value !== undefined) members.delete(value);
      return value;
    },
    leave: (member) => members.delete(member),
  };
}
