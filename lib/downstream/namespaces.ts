import { unlessAborted } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { allWorkloadTypes, typeId } from "../api/workload-kinds.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import type { ObjectKey } from "../model/key.ts";
import { downstreamFieldManager } from "../sync/downstream.ts";
import {
  downstreamNamespace,
  isNamespaceOf,
  isReservedNamespace,
  type Locator,
  locatorOf,
  namespaceManifest,
} from "../sync/ownership/namespace-map.ts";
import { isNamedNotFound } from "./errors.ts";
import { isEmptyOf, isNamespaceEmpty, type ListedType } from "./namespace-contents.ts";
import type { ClusterSession } from "./session.ts";

const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const pods: ListedType = { type: { group: "", version: "v1", plural: "pods" }, kind: "Pod" };

/** Creates and deletes the downstream namespaces of tenants. */
export interface DownstreamNamespaces {
  /** Creates a namespace if it does not exist. Fails with "invalid" when the name has another owner. */
  ensure(session: ClusterSession, registration: ObjectKey, locator: Locator, signal: AbortSignal): Promise<void>;
  /** Deletes a namespace that is empty and ours; returns whether it is gone or terminating. */
  remove(session: ClusterSession, locator: Locator, signal: AbortSignal): Promise<boolean>;
  /** A write found that the namespace is gone or terminating: the next `ensure` reads it again. */
  forget(session: ClusterSession, name: string): void;
}

/** Creates the interface; `types` are workload types besides the built-in ones, whose objects keep a namespace too. */
export function createDownstreamNamespaces(types: readonly WorkloadType[]): DownstreamNamespaces {
  const listedTypes = new Map<string, ListedType>(
    [pods, ...allWorkloadTypes(types)].map((each) => [typeId(each.type), each]),
  );
  const listedBefore = new Set(listedTypes.keys());
  return {
    ensure: async (session, registration, locator, signal) => {
      const name = downstreamNamespace(locator);
      const known = session.namespaces.get(name);
      // Several callers share the promise, so no caller's signal aborts it; every request has a timeout.
      const ensured = known ?? ensureNow(session, registration, locator);
      if (known === undefined) {
        session.namespaces.set(name, ensured);
        ensured.catch(() => forget(session, name, ensured));
      }
      await unlessAborted(ensured, signal);
    },
    remove: async (session, locator, signal) => {
      const name = downstreamNamespace(locator);
      const namespace = await find(session, name, signal);
      session.namespaces.delete(name);
      if (namespace === undefined) return true;
      if (!isNamespaceOf(namespace, locator)) return false;
      if (isTerminating(namespace)) return true;
      const isEmpty = await allSettledOrThrow(
        [...listedTypes.values()].map((each) =>
          // A workload type that is not served has no objects.
          isEmptyOf(session, { ...each, namespace: name, ifNotServed: true }, signal),
        ),
      );
      if (isEmpty.includes(false)) return false;
      // The deletion would delete objects of every other type too, whoever created them.
      if (!(await isNamespaceEmpty(session, { namespace: name, listedBefore }, signal))) return false;
      // A concurrent `ensure` has found the namespace since, and its caller relies on it.
      if (session.namespaces.has(name)) return false;
      const { uid, resourceVersion } = namespace.metadata;
      try {
        await session.client.delete({ type: namespaces, name }, { preconditions: { uid, resourceVersion }, signal });
      } catch (error) {
        if (faultOf(error) === "conflict") return false;
        if (!isNamedNotFound(error, name)) throw error;
      }
      return true;
    },
    forget: (session, name) => forget(session, name),
  };
}

function forget({ namespaces: known }: ClusterSession, name: string, expected = known.get(name)): void {
  if (known.get(name) === expected) known.delete(name);
}

async function ensureNow(session: ClusterSession, registration: ObjectKey, locator: Locator): Promise<void> {
  const name = downstreamNamespace(locator);
  const subject = `cluster ${registration.name}: namespace "${name}"`;
  if (isReservedNamespace(locator.namespace)) {
    throw new ControllerError("invalid", `${subject}: the system namespace "${locator.namespace}" is not synced`);
  }
  const found = (await find(session, name)) ?? (await create(session, locator)) ?? (await find(session, name));
  if (found === undefined) throw new ControllerError("unreachable", `${subject}: was deleted while TMC created it`);
  if (!isNamespaceOf(found, locator)) {
    throw new ControllerError("invalid", `${subject}: ${ownerText(found, locator)}, not to "${locator.namespace}"`);
  }
  if (isTerminating(found)) {
    throw new ControllerError("unreachable", `${subject}: is terminating; TMC creates it again afterwards`);
  }
}

async function find(session: ClusterSession, name: string, signal?: AbortSignal): Promise<KubeObject | undefined> {
  try {
    return await session.client.get({ type: namespaces, name }, { ...(signal && { signal }) });
  } catch (error) {
    if (isNamedNotFound(error, name)) return undefined;
    throw error;
  }
}

/** Creates a namespace; undefined if it exists by now. */
async function create(session: ClusterSession, locator: Locator): Promise<KubeObject | undefined> {
  try {
    return await session.client.create({ type: namespaces }, namespaceManifest(locator), {
      fieldManager: downstreamFieldManager,
    });
  } catch (error) {
    if (faultOf(error) === "exists") return undefined;
    throw error;
  }
}

/** The owner of a namespace, for a message. It contains no name of another tenant. */
function ownerText(namespace: KubeObject, { hub, logicalCluster }: Locator): string {
  const other = locatorOf(namespace);
  if (other === undefined) return "belongs to an unknown owner";
  if (other.hub !== hub) return "belongs to another control plane";
  return other.logicalCluster === logicalCluster
    ? `belongs to "${other.namespace}"`
    : "belongs to another logical cluster";
}

const isTerminating = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
