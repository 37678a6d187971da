import { describe, expect, it } from "vitest";
import { parseAuditLog } from "./audit-log.ts";
import { judgeAudit, type Who } from "./audit-violations.ts";

const account = (name: string): string => `system:serviceaccount:tmc-system:${name}`;
const [worker, relay] = [account("tmc-controller-manager"), account("tmc-relay")];
const who: Who = {
  provider: "home",
  tenants: new Map([
    ["aaaa", "ants"],
    ["bbbb", "bees"],
  ]),
  outsider: "eve",
  worker: { user: worker, home: "home" },
  relay: { user: relay, home: "home" },
  rests: [{ cluster: "bbbb", fromMs: at(100), toMs: at(200) }],
};

function at(seconds: number): number {
  return Date.parse("2026-01-01T00:00:00Z") + seconds * 1000;
}

type Row = Readonly<{
  by: string;
  /** Of a service account. */
  home?: string;
  /** Who passes the request on. */
  through?: string;
  does: string;
  /** `plural` or `plural/name`, the latter behind `namespace|` where it has one. */
  to?: string;
  in?: string;
  code?: number;
  second?: number;
}>;

/** A line as kcp writes it, with what else it writes left out. */
function lineOf({ by, home, through, does, to, in: cluster, code = 200, second = 10 }: Row): string {
  const user = { username: by, ...(home && { extra: { "authentication.kcp.io/cluster-name": [home] } }) };
  const [namespace, address] = to?.includes("|") === true ? to.split("|") : [undefined, to];
  const [resource, name] = address?.split("/") ?? [];
  return JSON.stringify({
    kind: "Event",
    stage: "ResponseComplete",
    verb: does,
    ...(through === undefined ? { user } : { user: { username: through }, impersonatedUser: user }),
    ...(resource && { objectRef: { resource, namespace, name } }),
    responseStatus: { code },
    requestReceivedTimestamp: new Date(at(second)).toISOString(),
    annotations: cluster === undefined ? {} : { "kcp.io/cluster": cluster },
  });
}

const ours = { by: worker, home: "home" } as const;
const antsMake: readonly Row[] = [
  { by: "ants", does: "create", to: "workloadplacements/web", in: "aaaa", code: 201, second: 1 },
  { by: "ants", does: "create", to: "default|secrets/key", in: "aaaa", code: 201, second: 1 },
];
const beesMake: Row = { by: "bees", does: "create", to: "workloadplacements/hive", in: "bbbb", code: 201, second: 2 };

const innocent: Record<string, readonly Row[]> = {
  "a status that is written where the tenant has made the object": [
    ...antsMake,
    { ...ours, does: "patch", to: "workloadplacements/web", in: "aaaa" },
    { ...ours, through: "system:apiserver", does: "update", to: "workloadplacements:1f2e/web", in: "aaaa" },
  ],
  "a secret that is read where the tenant has put it": [
    ...antsMake,
    { ...ours, does: "get", to: "default|secrets/key", in: "aaaa" },
  ],
  "an object that was applied, and not created": [
    { by: "ants", does: "patch", to: "workloadplacements/web", in: "aaaa", code: 201, second: 1 },
    { ...ours, does: "patch", to: "workloadplacements/web", in: "aaaa" },
  ],
  "a list in the workspace of a tenant who has made something": [
    ...antsMake,
    { ...ours, does: "list", to: "clusterregistrations", in: "aaaa" },
  ],
  "lists and watches of all tenants at once, at any time": [
    { ...ours, does: "list", to: "clusterregistrations" },
    { ...ours, does: "watch", to: "secrets", second: 150 },
    { by: relay, home: "home", does: "watch", to: "workloadplacements", second: 150 },
  ],
  "reads beside the export": [{ ...ours, does: "get", to: "apiexports/tmc.kcp.io", in: "home" }],
  "the Lease of a controller's settings beside the export": [
    { ...ours, does: "create", to: "tmc-system|leases/tmc-settings-1f2e", in: "home", code: 201 },
    { ...ours, does: "delete", to: "tmc-system|leases/tmc-settings-1f2e", in: "home" },
  ],
  "an Event beside the export, and one for a tenant who has made something": [
    ...antsMake,
    { ...ours, does: "create", to: "default|events", in: "home", code: 201 },
    { ...ours, does: "patch", to: "default|events/tmc.kcp.io.1f2e", in: "home" },
    { ...ours, does: "patch", to: "default|events/east.1f2e", in: "aaaa" },
  ],
  "a tenant in his own workspace": [{ by: "bees", does: "delete", to: "workloadplacements/web", in: "bbbb" }],
  "tenants and others who are refused": [
    { by: "ants", does: "get", to: "workloadplacements/hive", in: "bbbb", code: 403 },
    { by: "eve", does: "list", to: "secrets", in: "aaaa", code: 403 },
    { by: "eve", does: "list", to: "secrets", code: 403 },
    { by: worker, home: "bbbb", does: "list", to: "secrets", in: "aaaa", code: 403 },
  ],
  "a tenant's account of our name, at its home": [
    { by: worker, home: "bbbb", does: "list", to: "secrets", in: "bbbb" },
  ],
  "kcp itself and its administrator, wherever they are": [
    { by: "system:apiserver", does: "update", to: "workloadplacements/hive", in: "bbbb", second: 150 },
    { by: "kcp-admin", does: "delete", to: "workloadplacements/hive", in: "bbbb", second: 150 },
  ],
  "work for one tenant while the other is at rest": [
    ...antsMake,
    beesMake,
    { ...ours, does: "patch", to: "workloadplacements/web", in: "aaaa", second: 150 },
    { ...ours, does: "patch", to: "workloadplacements/hive", in: "bbbb", second: 99 },
    { ...ours, does: "patch", to: "workloadplacements/hive", in: "bbbb", second: 201 },
  ],
};

const guilty: Record<string, Readonly<{ rows: readonly Row[]; finding: string }>> = {
  "one tenant's object, written into the other's workspace": {
    rows: [...antsMake, beesMake, { ...ours, does: "patch", to: "workloadplacements/web", in: "bbbb" }],
    finding: `${worker} patch workloadplacements/web in bbbb: 200: bees has not made it before`,
  },
  "the same, passed on by the virtual workspace": {
    rows: [
      ...antsMake,
      { ...ours, through: "system:apiserver", does: "update", to: "workloadplacements:1f2e/web", in: "bbbb" },
    ],
    finding: `${worker} update workloadplacements/web in bbbb: 200: bees has not made it before`,
  },
  "the same, although it was refused": {
    rows: [...antsMake, { ...ours, does: "patch", to: "workloadplacements/web", in: "bbbb", code: 404 }],
    finding: `${worker} patch workloadplacements/web in bbbb: 404: bees has not made it before`,
  },
  "a read of one tenant's Secret in the other's workspace": {
    rows: [...antsMake, beesMake, { ...ours, does: "get", to: "default|secrets/key", in: "bbbb", code: 404 }],
    finding: `${worker} get secrets/default/key in bbbb: 404: bees has not made it before`,
  },
  "a secret of that name in another namespace": {
    rows: [...antsMake, { ...ours, does: "get", to: "other|secrets/key", in: "aaaa" }],
    finding: `${worker} get secrets/other/key in aaaa: 200: ants has not made it before`,
  },
  "an object that somebody else has made there": {
    rows: [
      { by: "kcp-admin", does: "create", to: "workloadplacements/hive", in: "bbbb", code: 201, second: 1 },
      { ...ours, does: "patch", to: "workloadplacements/hive", in: "bbbb" },
    ],
    finding: `${worker} patch workloadplacements/hive in bbbb: 200: bees has not made it before`,
  },
  "a write that comes before its cause": {
    rows: [...antsMake, { ...ours, does: "patch", to: "workloadplacements/web", in: "aaaa", second: 0 }],
    finding: `${worker} patch workloadplacements/web in aaaa: 200: ants has not made it before`,
  },
  "a list in the workspace of a tenant who has done nothing": {
    rows: [...antsMake, { ...ours, does: "list", to: "clusterregistrations", in: "bbbb" }],
    finding: `${worker} list clusterregistrations in bbbb: 200: bees has made nothing there before`,
  },
  "a request in the workspace of a tenant at rest": {
    rows: [beesMake, { ...ours, does: "get", to: "workloadplacements/hive", in: "bbbb", second: 150 }],
    finding: `${worker} get workloadplacements/hive in bbbb: 200: bees is at rest`,
  },
  "a request where no tenant is": {
    rows: [{ ...ours, does: "list", to: "workspaces", in: "root" }],
    finding: `${worker} list workspaces in root: 200: no tenant is there`,
  },
  "a write to all tenants": {
    rows: [{ ...ours, does: "deletecollection", to: "workloadplacements", code: 405 }],
    finding: `${worker} deletecollection workloadplacements in all: 405: it names no logical cluster`,
  },
  "a write beside the export": {
    rows: [{ ...ours, does: "patch", to: "apiexports/tmc.kcp.io", in: "home" }],
    finding: `${worker} patch apiexports/tmc.kcp.io in home: 200: nothing but Events, Leases and the hub's identity is written beside the export`,
  },
  "a Lease in another namespace beside the export": {
    rows: [{ ...ours, does: "update", to: "default|leases/east", in: "home" }],
    finding: `${worker} update leases/default/east in home: 200: nothing but Events, Leases and the hub's identity is written beside the export`,
  },
  "a relay that reads a single object": {
    rows: [...antsMake, { by: relay, home: "home", does: "get", to: "workloadplacements/web", in: "aaaa", code: 403 }],
    finding: `${relay} get workloadplacements/web in aaaa: 403: the relay only lists and watches`,
  },
  "a tenant in the other's workspace": {
    rows: [{ by: "ants", does: "get", to: "workloadplacements/hive", in: "bbbb" }],
    finding:
      "ants get workloadplacements/hive in bbbb: 200: it was answered in a tenant's workspace that is not its own",
  },
  "a tenant who sees what there is in the other's workspace": {
    rows: [{ by: "ants", does: "get", in: "bbbb" }],
    finding: "ants get (no object) in bbbb: 200: it was answered in a tenant's workspace that is not its own",
  },
  "a tenant beside the export": {
    rows: [{ by: "bees", does: "list", to: "secrets", in: "home" }],
    finding: "bees list secrets in home: 200: it was answered beside the export",
  },
  "a tenant to whom the whole export is shown": {
    rows: [{ by: "bees", does: "list", to: "clusterregistrations" }],
    finding: "bees list clusterregistrations in all: 200: it was answered for all tenants",
  },
  "an outsider in any workspace": {
    rows: [{ by: "eve", does: "list", to: "secrets", in: "aaaa" }],
    finding: "eve list secrets in aaaa: 200: it was answered in a tenant's workspace that is not its own",
  },
  "a tenant's account of our name, in the other's workspace": {
    rows: [...antsMake, { by: worker, home: "bbbb", does: "patch", to: "workloadplacements/web", in: "aaaa" }],
    finding: `${worker} patch workloadplacements/web in aaaa: 200: it was answered in a tenant's workspace that is not its own`,
  },
};

const judged = (rows: readonly Row[]): readonly string[] =>
  judgeAudit(parseAuditLog(rows.map((row) => `${lineOf(row)}\n`).join("")), who);

describe("the judge of an audit log", () => {
  it.each(Object.entries(innocent))("finds nothing in %s", (_, rows) => {
    expect(judged(rows)).toEqual([]);
  });

  it.each(Object.entries(guilty))("finds %s", (_, { rows, finding }) => {
    expect(judged(rows)).toEqual([finding]);
  });

  it("finds each violation, in the order of the log", () => {
    const [one, other] = [guilty["a request where no tenant is"], guilty["an outsider in any workspace"]];
    for (const cases of [
      [one, other],
      [other, one],
    ]) {
      expect(judged(cases.flatMap((each) => each?.rows ?? []))).toEqual(cases.map((each) => each?.finding));
    }
  });

  it("ignores an incomplete last line", () => {
    const whole = lineOf({ by: "eve", does: "list", to: "secrets", in: "aaaa" });
    expect(parseAuditLog(`${whole}\n${whole.slice(0, 40)}`)).toHaveLength(1);
    expect(parseAuditLog("")).toEqual([]);
  });
});
