import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTarget } from "@tmc/kube/paths.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { claimedWorkloads, typeId } from "../api/workload-kinds.ts";
import type { ObjectKey } from "../model/key.ts";
import { type CopyAddress, copyOf, type Downstream, fieldManager } from "../sync/downstream.ts";
import { downstreamNamespace } from "../sync/ownership/namespace-map.ts";
import {
  belongsTo,
  type Owner,
  otherOwningRegistration,
  ownerAnnotation,
  syncedLabel,
  whyNotOwned,
} from "../sync/ownership/owner.ts";
import type { Manifest } from "../sync/sync-objects.ts";
import type { ClientFor } from "./cluster-clients.ts";
import type { CopyWatches } from "./copy-watch.ts";
import { createFleetTypes, isServed, neverVersion } from "./crds.ts";

import { isNamedNotFound, isNamespaceGone, isOutcomeUnknown, refusalOf } from "./errors.ts";
import { createFleetNamespaces } from "./namespaces.ts";
import { type CallRate, defaultCallRate } from "./rate-limit.ts";

import { createSites, type Site } from "./session.ts";
import { ownOrigin } from "./verified-owner.ts";
import type { Attention } from "./watch-subscriptions.ts";

export type FleetOptions = Readonly<{
  clientFor: ClientFor;
  /** What watches tell of copies. Without them every look asks the cluster. */
  copies?: Pick<CopyWatches, "peek" | "look" | "ask" | "doubt"> | undefined;
  /** Hears what is of interest on which cluster. */
  attention?: Pick<Attention, "attend"> | undefined;
  clock: Clock;
  /** How many calls each cluster gets. @default 200 a second, 400 at once */
  rate?: CallRate | undefined;
  /** How long one call may take, so that a cluster which hangs is soon taken for one. @default what clients give it */
  callSeconds?: number | undefined;
  /** Types of workloads besides those that TMC knows; a namespace that has any of them is not empty. */
  types?: readonly WorkloadType[] | undefined;
  /** A cluster does not accept its credentials: others should be found. */
  onRefused?: ((registration: ObjectKey) => void) | undefined;
}>;

/** How often something that others write at the same time is looked at again before that is left for later. */
const mostTries = 3;
/** As many places as are remembered between a look and the write that follows it. */
const mostSeen = 5_000;

/** Gives sync its clusters. */
export function createFleet(options: FleetOptions): Downstream {
  const { copies, rate = defaultCallRate, types = [] } = options;
  const onSite = createSites({ ...options, rate });
  const namespaces = createFleetNamespaces(types);
  const served = createFleetTypes(options.clock);

  /** Asks a cluster for an object, and tells everyone what it said. */
  const find = async (
    site: Site,
    { registration, object: at }: CopyAddress,
    { whole, signal }: Readonly<{ whole: boolean; signal: AbortSignal }>,
  ): Promise<KubeObject | undefined> => {
    const take = copies?.ask({ registration, object: at });
    const object = await get(site, at, { whole, signal });
    take?.(object);
    remember(site, at, object?.metadata.uid ?? "");
    return object;
  };
  /** A write whose end nobody knows, or that was decided on something that is no longer so. */
  const doubt = (site: Site, address: CopyAddress): void => {
    site.seen.delete(placeId(address.object));
    copies?.doubt(address);
  };

  /** The uid of what is where something is about to be written; empty for nothing. */
  const present = async (site: Site, address: CopyAddress, signal: AbortSignal): Promise<string> => {
    const peek = copies?.peek(address);
    const known = peek?.kind === "there" ? peek.copy.uid : site.seen.get(placeId(address.object));
    if (known !== undefined) return known;
    const object = await find(site, address, { whole: true, signal });
    if (object !== undefined && ownOrigin(object, address.registration) === undefined) throw takenBy(address);
    return object?.metadata.uid ?? "";
  };
  const applyTo = async (
    site: Site,
    address: CopyAddress,
    { manifest, uid }: Readonly<{ manifest: Manifest; uid: string | undefined }>,
    signal: AbortSignal,
  ): Promise<KubeObject> => {
    const { object: at } = address;
    const guard = uid === undefined ? {} : uid === "" ? { resourceVersion: neverVersion } : { uid };
    const body = { ...manifest, metadata: { ...manifest.metadata, ...guard } };
    const take = copies?.ask(address);
    try {
      const object = await site.client.patch<KubeObject>(
        at,
        { type: "apply", body, force: true },
        // Whatever is asked for, an apply with a field that the cluster does not know is refused; so it is said.
        { fieldManager, fieldValidation: "Strict", signal },
      );
      take?.(object);
      remember(site, at, object.metadata.uid ?? "");
      return object;
    } catch (error) {
      const refusal = refusalOf(error);
      if (isNamespaceGone(error)) namespaces.forget(site, at.namespace);
      else if (faultOf(error) === "not-found") served.forget(site, at.type);
      if (isOutcomeUnknown(error) || faultOf(refusal) === "conflict") doubt(site, address);
      throw refusal;
    }
  };

  /** Looks at an object and writes what follows from it, again while others write it at the same time. */
  const change = (
    { registration, object: at }: CopyAddress,
    uid: string,
    { write, signal }: Readonly<{ write: (site: Site, object: KubeObject) => Promise<void>; signal: AbortSignal }>,
  ): Promise<void> =>
    onSite(registration, signal, async (site) => {
      const address = { registration: registration, object: at };
      for (let tries = 1; ; tries++) {
        const object = await find(site, address, { whole: true, signal });
        // Gone, another one by now, or no longer ours: nothing that may be touched.
        if (object?.metadata.uid !== uid || ownOrigin(object, registration) === undefined) return;
        try {
          await write(site, object);
          doubt(site, address);
          return;
        } catch (error) {
          doubt(site, address);
          if (isNamedNotFound(error, at.name)) return;
          if (faultOf(error) !== "conflict" || tries >= mostTries) throw error;
        }
      }
    });

  const readCopyUncached: Downstream["readCopyUncached"] = async (address, origin, signal) => {
    const whole = claimedKind(address.object) === undefined;
    const object = await onSite(address.registration, signal, (site) => find(site, address, { whole, signal }));
    if (object === undefined) return { kind: "absent" };
    const copy = copyOf(object);
    if (belongsTo(object, origin)) return { kind: "there", copy };
    return { kind: "foreign", copy, who: whyNotOwned(object, origin), holder: otherOwningRegistration(object, origin) };
  };

  return {
    subscribe: (cluster, wanted) => options.attention?.attend(cluster, wanted),
    readCopy: async (address, origin, signal, { mayPresume = false } = {}) => {
      const { registration, object } = address;
      const known = await copies?.look(address, signal);
      if (mayPresume && known?.kind === "absent") {
        const isOpen = await onSite(registration, signal, async (site) => {
          // Something was there when somebody last looked, and the watch tells only of what is ours.
          if ((site.seen.get(placeId(object)) ?? "") !== "") return false;
          remember(site, object, "");
          return true;
        });
        if (isOpen) return { kind: "absent", isPresumed: true };
      }
      // What is not among ours may still be somebody else's, so only the cluster itself can say that there is nothing.
      return known?.kind === "there" && isPlaceOf(address, origin) ? known : readCopyUncached(address, origin, signal);
    },
    readCopyUncached,
    readObject: (address, signal) =>
      onSite(address.registration, signal, (site) => find(site, address, { whole: true, signal })),
    serves: (cluster, type, signal) => onSite(cluster, signal, (site) => served.serves(site, type, signal)),
    ensureType: (cluster, wanted, signal) => onSite(cluster, signal, (site) => served.ensure(site, wanted, signal)),
    ensureNamespace: (cluster, locator, signal) =>
      onSite(cluster, signal, (site) => namespaces.ensure(site, cluster, locator, signal)),
    apply: async (address, manifest, signal) => {
      const { registration, object } = address;
      if (manifest.metadata.name !== object.name || manifest.metadata.namespace !== object.namespace) {
        throw new ControllerError(
          "invalid",
          `cluster ${registration.name}: apply ${formatTarget(object)}: manifest is for another`,
        );
      }
      return onSite(registration, signal, async (site) => {
        const uid = await present(site, address, signal);
        try {
          return await applyTo(site, address, { manifest, uid }, signal);
        } catch (error) {
          if (uid !== "" || faultOf(error) !== "conflict") throw error;
          // Somebody was faster, or this cluster takes no such condition.
          if ((await find(site, address, { whole: true, signal })) !== undefined) throw takenBy(address, error);
          return applyTo(site, address, { manifest, uid: undefined }, signal);
        }
      });
    },
    remove: (address, uid, signal) =>
      change(address, uid, {
        signal,
        write: async ({ client }, { metadata }) => {
          if (metadata.deletionTimestamp !== undefined) return;
          const { resourceVersion } = metadata;
          const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
          await client.delete(address.object, { preconditions, propagationPolicy: "Foreground", signal });
        },
      }),
    release: (address, uid, signal) =>
      change(address, uid, {
        signal,
        write: async ({ client }, { metadata: { resourceVersion } }) => {
          const metadata = {
            resourceVersion,
            labels: { [syncedLabel]: null },
            annotations: { [ownerAnnotation]: null },
          };
          await client.patch(address.object, { type: "merge", body: { metadata } }, { fieldManager, signal });
        },
      }),
    removeNamespace: (cluster, locator, signal) =>
      onSite(cluster, signal, (site) => namespaces.remove(site, locator, signal)),
  };
}

type Place = CopyAddress["object"];

const placeId = ({ type, namespace, name }: Place): string => `${typeId(type)}/${namespace}/${name}`;

function remember({ seen }: Site, at: Place, uid: string): void {
  const id = placeId(at);
  seen.delete(id); // so that it becomes the youngest
  seen.set(id, uid);
  for (const oldest of seen.keys()) {
    if (seen.size <= mostSeen) return;
    seen.delete(oldest);
  }
}

/** Whether a copy of this origin is to be found there. */
function isPlaceOf({ registration, object }: CopyAddress, origin: Owner): boolean {
  return (
    origin.logicalCluster === registration.logicalCluster &&
    origin.registration === registration.name &&
    origin.name === object.name &&
    downstreamNamespace(origin) === object.namespace
  );
}

/** The types of which nobody needs more than metadata to see how a copy is: nothing reads what is in a cluster's secrets. */
function claimedKind({ type }: Place): WorkloadType | undefined {
  return claimedWorkloads.find((each) => typeId(each.type) === typeId(type));
}

/** Undefined when the cluster itself has said that it is not there. */
async function get(
  { client }: Site,
  at: Place,
  { whole, signal }: Readonly<{ whole: boolean; signal: AbortSignal }>,
): Promise<KubeObject | undefined> {
  try {
    if (whole) return await client.get<KubeObject>(at, { signal });
    const { apiVersion, kind } = claimedKind(at) ?? {};
    const object = await client.metadata.get<KubeObject>(at, { signal });
    // It calls itself PartialObjectMetadata.
    return { ...object, apiVersion: apiVersion ?? object.apiVersion, kind: kind ?? object.kind };
  } catch (error) {
    if (isNamedNotFound(error, at.name)) return undefined;
    if (faultOf(error) !== "not-found") throw error;
    if (!(await isServed(client, at.type, signal))) return undefined;
    const words = error instanceof Error ? error.message : "not found";
    throw new ControllerError("unreachable", words, { cause: error });
  }
}

function takenBy({ registration, object }: CopyAddress, cause?: unknown): ControllerError {
  const message = `cluster ${registration.name}: apply ${formatTarget(object)}: there is one that nobody had looked at`;
  return new ControllerError("conflict", message, { cause });
}
