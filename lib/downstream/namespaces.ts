import { unlessAborted } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { typeId, workloadKindsWith } from "../api/workload-kinds.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import type { ObjectKey } from "../model/key.ts";
import { isServerMade } from "../sync/desired/server-fields.ts";
import { fieldManager } from "../sync/downstream.ts";
import {
  downstreamNamespace,
  isNamespaceOf,
  isReservedNamespace,
  type Locator,
  locatorOf,
  namespaceManifest,
} from "../sync/ownership/namespace-map.ts";
import { isNamedNotFound } from "./errors.ts";
import type { Site } from "./session.ts";

const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const pods: Looked = { type: { group: "", version: "v1", plural: "pods" }, kind: "Pod" };

type Looked = Pick<WorkloadType, "type" | "kind">;

/** Tenants' namespaces on clusters. */
export interface FleetNamespaces {
  ensure(site: Site, registration: ObjectKey, locator: Locator, signal: AbortSignal): Promise<void>;
  /** Whether it is gone or going. */
  remove(site: Site, locator: Locator, signal: AbortSignal): Promise<boolean>;
  /** It is not there as it was thought to be: whoever needs it next looks. */
  forget(site: Site, name: string): void;
}

/** Creates them; `types` are those that may be in them besides the ones that every cluster has. */
export function createFleetNamespaces(types: readonly WorkloadType[]): FleetNamespaces {
  const looked = new Map<string, Looked>([pods, ...workloadKindsWith(types)].map((each) => [typeId(each.type), each]));
  return {
    ensure: async (site, registration, locator, signal) => {
      const name = downstreamNamespace(locator);
      const known = site.namespaces.get(name);
      // One looks for all, so no single one's signal ends it; every call has its time.
      const made = known ?? ensureNow(site, registration, locator);
      if (known === undefined) {
        site.namespaces.set(name, made);
        made.catch(() => forget(site, name, made));
      }
      await unlessAborted(made, signal);
    },
    remove: async (site, locator, signal) => {
      const name = downstreamNamespace(locator);
      const namespace = await find(site, name, signal);
      site.namespaces.delete(name);
      if (namespace === undefined) return true;
      if (!isNamespaceOf(namespace, locator)) return false;
      if (isGoing(namespace)) return true;
      const isEmpty = await allSettledOrThrow([...looked.values()].map((each) => hasNone(site, each, name, signal)));
      // Whoever needs it by now has found it there.
      if (isEmpty.includes(false) || site.namespaces.has(name)) return false;
      const { uid, resourceVersion } = namespace.metadata;
      try {
        await site.client.delete({ type: namespaces, name }, { preconditions: { uid, resourceVersion }, signal });
      } catch (error) {
        if (faultOf(error) === "conflict") return false;
        if (!isNamedNotFound(error, name)) throw error;
      }
      return true;
    },
    forget: (site, name) => forget(site, name),
  };
}

function forget({ namespaces: known }: Site, name: string, which = known.get(name)): void {
  if (known.get(name) === which) known.delete(name);
}

async function ensureNow(site: Site, { name: cluster }: ObjectKey, locator: Locator): Promise<void> {
  const name = downstreamNamespace(locator);
  const which = `cluster ${cluster}: namespace "${name}"`;
  if (isReservedNamespace(locator.namespace)) {
    throw new ControllerError("invalid", `${which}: nothing is put on clusters from namespace "${locator.namespace}"`);
  }
  const found = (await find(site, name)) ?? (await make(site, locator)) ?? (await find(site, name));
  if (found === undefined) throw new ControllerError("unreachable", `${which}: came and went while it was made`);
  if (!isNamespaceOf(found, locator)) {
    throw new ControllerError("invalid", `${which}: ${ownerOf(found, locator)}, not to "${locator.namespace}"`);
  }
  if (isGoing(found)) {
    throw new ControllerError("unreachable", `${which}: is being removed, and is made again when it has gone`);
  }
}

async function find(site: Site, name: string, signal?: AbortSignal): Promise<KubeObject | undefined> {
  try {
    return await site.client.get({ type: namespaces, name }, { ...(signal && { signal }) });
  } catch (error) {
    if (isNamedNotFound(error, name)) return undefined;
    throw error;
  }
}

/** Undefined when somebody else was faster. */
async function make(site: Site, locator: Locator): Promise<KubeObject | undefined> {
  try {
    return await site.client.create({ type: namespaces }, namespaceManifest(locator), { fieldManager });
  } catch (error) {
    if (faultOf(error) === "exists") return undefined;
    throw error;
  }
}

/** To whom a namespace belongs, for a message; of other tenants it names nothing. */
function ownerOf(namespace: KubeObject, { hub, logicalCluster }: Locator): string {
  const other = locatorOf(namespace);
  if (other === undefined) return "belongs to somebody else";
  if (other.hub !== hub) return "belongs to another control plane";
  return other.logicalCluster === logicalCluster
    ? `belongs to "${other.namespace}"`
    : "belongs to another logical cluster";
}

const isGoing = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

/** Enough to see past what servers put into every namespace. */
const fewObjects = 10;

async function hasNone(site: Site, { type, kind }: Looked, namespace: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { items, metadata } = await site.client.metadata.list<KubeObject>(
      { type, namespace },
      {
        limit: fewObjects,
        // Older clusters make one for every service account.
        fieldSelector: kind === "Secret" ? "type!=kubernetes.io/service-account-token" : undefined,
        signal,
      },
    );
    return !metadata.continue && items.every((each) => isServerMade(kind, each.metadata.name ?? ""));
  } catch (error) {
    // What is not served cannot be there; where we may not look, there may be anything.
    if (faultOf(error) === "not-found") return true;
    if (faultOf(error) === "forbidden") return false;
    throw error;
  }
}
