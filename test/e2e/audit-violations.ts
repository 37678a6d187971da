import { accountNamespace, hubRecordName } from "../../lib/api/export-access.ts";
import type { AuditedRequest } from "./audit-log.ts";

/** A service account of the provider's workspace, or a person. */
export type Identity = Readonly<{ user: string; home?: string | undefined }>;

/** A time in which nothing happens in a tenant's workspace. */
export type Rest = Readonly<{ cluster: string; fromMs: number; toMs: number }>;

/** Everybody whose requests are judged. */
export type Who = Readonly<{
  /** The logical cluster that the export is in. */
  provider: string;
  /** The user of each tenant, by the tenant's logical cluster. */
  tenants: ReadonlyMap<string, string>;
  /** A user who has no rights anywhere. */
  outsider: string;
  relay: Identity;
  worker: Identity;
  rests?: readonly Rest[];
}>;

/** What the virtual workspace gives for all tenants at once. */
const informerVerbs: ReadonlySet<string> = new Set(["list", "watch"]);
const reads: ReadonlySet<string> = new Set([...informerVerbs, "get"]);

/**
 * Finds in an audit log, in the order of its lines, whatever crosses the border between tenants; nothing when they are kept apart.
 *
 * What one of ours asks in a tenant's workspace has to have a cause in the log: the tenant's own user has made the object
 * before, in that workspace. So a mixed up key shows, and so does a list in a workspace whose tenant has done nothing.
 */
export function judgeAudit(requests: readonly AuditedRequest[], who: Who): readonly string[] {
  const made = madeByTenants(requests, who);
  return requests.flatMap((request) => {
    const wrong = isOurs(request, who) ? wrongOfOurs(request, who, made) : wrongOfOthers(request, who);
    return wrong === undefined ? [] : [`${format(request)}: ${wrong}`];
  });
}

/** Whether a request is made by the relay or a worker of this provider, and not by a namesake of theirs. */
export function isOurs(request: AuditedRequest, { relay, worker }: Pick<Who, "relay" | "worker">): boolean {
  return isOf(request, relay) || isOf(request, worker);
}

const isOf = (request: AuditedRequest, { user, home }: Identity): boolean =>
  request.user === user && request.home === home;

function wrongOfOurs(request: AuditedRequest, who: Who, made: ReadonlyMap<string, number>): string | undefined {
  const { cluster, verb, atMs, name } = request;
  if (isOf(request, who.relay) && !informerVerbs.has(verb)) return "the relay only lists and watches";
  if (cluster === undefined) return informerVerbs.has(verb) ? undefined : "it names no logical cluster";
  if (cluster === who.provider) {
    const isAllowed = reads.has(verb) || isEvent(request) || isHubRecord(request) || isLease(request);
    return isAllowed ? undefined : "nothing but Events, Leases and the hub's identity is written beside the export";
  }
  const owner = who.tenants.get(cluster);
  if (owner === undefined) return "no tenant is there";
  if (who.rests?.some((rest) => rest.cluster === cluster && rest.fromMs <= atMs && atMs <= rest.toMs) === true) {
    return `${owner} is at rest`;
  }
  const madeMs = made.get(placeOf(request)) ?? Number.POSITIVE_INFINITY;
  if (madeMs <= atMs) return undefined;
  return name === undefined ? `${owner} has made nothing there before` : `${owner} has not made it before`;
}

function wrongOfOthers({ user, home, cluster, code }: AuditedRequest, who: Who): string | undefined {
  // Refused, or not even answered.
  if (code === 0 || code >= 400) return undefined;
  const isNamesake = [who.relay, who.worker].some((ours) => ours.user === user);
  const tenant = [...who.tenants].find(([, name]) => name === user)?.[0];
  if (!isNamesake && tenant === undefined && user !== who.outsider) return undefined;
  const own = isNamesake ? home : tenant;
  if (cluster === undefined) return "it was answered for all tenants";
  if (cluster === own) return undefined;
  if (cluster === who.provider) return "it was answered beside the export";
  return who.tenants.has(cluster) ? "it was answered in a tenant's workspace that is not its own" : undefined;
}

/** When each object was made by the tenant whose workspace it is in, and when anything at all was. */
function madeByTenants(requests: readonly AuditedRequest[], { tenants }: Who): ReadonlyMap<string, number> {
  const made = new Map<string, number>();
  for (const request of requests) {
    const { cluster, user, code, atMs } = request;
    if (code !== 201 || cluster === undefined || tenants.get(cluster) !== user) continue;
    for (const place of [placeOf(request), cluster]) made.set(place, Math.min(made.get(place) ?? atMs, atMs));
  }
  return made;
}

/** Whether the request writes an Event. */
const isEvent = ({ resource }: AuditedRequest): boolean => resource === "events";

/** Whether the request adds the address of the hub to its stored identity, as the first worker of a new installation does. */
const isHubRecord = ({ verb, resource, namespace, name }: AuditedRequest): boolean =>
  verb === "update" && resource === "configmaps" && namespace === accountNamespace && name === hubRecordName;

/** Whether the request is about a Lease in TMC's own namespace, by which controllers compare their settings. */
const isLease = ({ resource, namespace }: AuditedRequest): boolean =>
  resource === "leases" && namespace === accountNamespace;

/** Where an object is; of a request that names none, and of an Event, the workspace. */
function placeOf(request: AuditedRequest): string {
  const { cluster = "", resource, namespace, name } = request;
  return name === undefined || isEvent(request) ? cluster : [cluster, resource, namespace, name].join(" ");
}

function format({ user, verb, resource, namespace, name, cluster, code }: AuditedRequest): string {
  const object = [resource, namespace, name].filter((part) => part !== undefined).join("/");
  return `${user} ${verb} ${object || "(no object)"} in ${cluster ?? "all"}: ${code}`;
}
