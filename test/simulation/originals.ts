import type { ObjectTarget } from "@tmc/embedded/storage/operations.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { type UpsyncOrigin, upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { confirmUpsyncAnnotation } from "../../lib/upsync/inventory.ts";
import { isOptedIn } from "../../lib/upsync/opt-in.ts";
import { registrations } from "../lib/upstream/tenants.ts";
import { type ActualState, idOf } from "./actual-state.ts";
import { copyStorages } from "./copies.ts";
import { isWorkloadKind, workloadOf, workloadResources } from "./desired-workloads.ts";
import type { SimulationEnvironment } from "./environment.ts";
import type { Fault, Input } from "./scenario.ts";
import type { Servers, WorkloadNamespace } from "./servers.ts";
import { includes } from "./sorted-json.ts";

/** The namespace in which the users of clusters keep objects, and of the same name in workspaces. */
export const originalsNamespace: WorkloadNamespace = "up";

/** An object of a cluster's users that is mirrored upstream, by the registration that mirrors it. */
export type Original = Readonly<{ registration: string; object: KubeObject }>;

const context = { user: { name: "owner", groups: ["system:masters", "system:authenticated"] }, fieldManager: "owner" };

/** The original that an upstream object names; undefined if the cluster has none with this uid. */
export function originalOf(
  { clusters }: Pick<Servers, "clusters">,
  truth: Pick<ActualState, "physicalOf">,
  tenant: string,
  origin: UpsyncOrigin | undefined,
): Original | undefined {
  const storage = origin !== undefined && isWorkloadKind(origin.kind) ? copyStorages.get(origin.kind) : undefined;
  if (origin === undefined || storage === undefined) return undefined;
  const { registration, namespace, name, uid } = origin;
  const cluster = clusters.get(truth.physicalOf(tenant, registration) ?? "");
  const object = cluster?.store.get({ storage, logicalCluster: "", namespace, name });
  return object === undefined || object.metadata.uid !== uid ? undefined : { registration, object };
}

/** The original of a workload, if its registration still mirrors it. */
export function mirroredBy(
  { servers, monitor }: SimulationEnvironment,
  tenant: string,
  workload: KubeObject,
): Original | undefined {
  const { truth } = monitor;
  const found = originalOf(servers, truth, tenant, upsyncOriginOf(workload, tenant));
  const registration = found && truth.of(tenant).registrations.get(found.registration);
  return registration !== undefined && isCovered(registration, found?.object ?? workload) ? found : undefined;
}

/** Creates, changes or deletes an object as a user of the cluster does, whatever TMC can reach. */
export function changeOriginal(
  world: SimulationEnvironment,
  { cluster, name, of, desired }: Extract<Input, { kind: "original" }>,
): void {
  const physical = world.servers.clusters.get(cluster);
  const { group, version, plural } = workloadResources[of];
  const definition = physical?.catalog.find(group, version, plural);
  const namespaces = physical?.catalog.find("", "v1", "namespaces");
  if (physical === undefined || definition === undefined || namespaces === undefined) return;
  const { operations, store } = physical;
  world.log(`owner on ${cluster} ${of}/${name} ${JSON.stringify(desired)}`);
  const namespace = originalsNamespace;
  if (store.get({ storage: "namespaces", logicalCluster: "", namespace: "", name: namespace }) === undefined) {
    const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
    operations.create({ definition: namespaces, logicalCluster: "" }, object, context);
  }
  const target: ObjectTarget = { definition, logicalCluster: "", namespace, name };
  const present = store.get({ storage: definition.storage, logicalCluster: "", namespace, name });
  if (desired === undefined) {
    if (present !== undefined) operations.delete(target, { propagationPolicy: "Background" }, context);
    return;
  }
  const object = workloadOf(name, desired);
  if (present === undefined) operations.create(target, object, context);
  else
    operations.update(
      target,
      { ...present, ...object, metadata: { ...present.metadata, ...object.metadata } },
      context,
    );
}

/** A user of the workspace changes or deletes an object that is a mirror; its original wins. */
export async function changeMirror(
  { servers, monitor, log }: SimulationEnvironment,
  { tenant, name, of, do: deed }: Extract<Fault, { kind: "change-mirror" }>,
): Promise<void> {
  const client = servers.users[tenant];
  const id = `${of}/${originalsNamespace}/${name}`;
  const mirror = monitor.truth.of(servers.tenants[tenant] ?? "").workloads.get(id);
  if (client === undefined || mirror === undefined) return;
  if (upsyncOriginOf(mirror, servers.tenants[tenant] ?? "") === undefined) return;
  const address = { type: workloadResources[of], namespace: originalsNamespace, name };
  log(`user ${deed}s the mirror ${id}`);
  try {
    if (deed === "delete") {
      monitor.mayGo(mirror.metadata.uid ?? "");
      await client.delete(address, { preconditions: { uid: mirror.metadata.uid ?? "" } });
    } else {
      await client.patch(address, { type: "merge", body: { metadata: { labels: { tier: "changed" } } } });
    }
  } catch (error) {
    if (faultOf(error) === undefined) throw error;
    log(`user cannot ${deed} the mirror ${id}`);
  }
}

/** Law 1 for mirrored objects, once all is at rest: a cluster that can be read and the workspace have the same objects. */
export function checkMirrors({ servers, monitor, judged }: SimulationEnvironment): void {
  const { truth, broken } = monitor;
  for (const tenant of judged) {
    const { registrations: known, workloads, namespaces } = truth.of(tenant);
    const hasNamespace = namespaces.get(originalsNamespace)?.metadata.deletionTimestamp === undefined;
    for (const [name, registration] of known) {
      const cluster = servers.clusters.get(truth.physicalOf(tenant, name) ?? "");
      if (cluster === undefined || !isReadable(registration)) continue;
      for (const { apiVersion, kind } of typesOf(registration)) {
        const covers = (object: KubeObject): boolean => isCovered(registration, { ...object, apiVersion, kind });
        const storage = isWorkloadKind(kind) ? (copyStorages.get(kind) ?? "") : "";
        const there = cluster.store.list(storage, { logicalCluster: "", namespace: originalsNamespace });
        for (const original of there.filter(covers)) {
          const id = idOf({ ...original, kind });
          const mirror = workloads.get(id);
          if (mirror === undefined && hasNamespace && namespaces.has(originalsNamespace)) {
            broken(1, `${tenant}/${id} of ${name} is not mirrored`);
          }
          if (mirror === undefined || mirror.metadata.deletionTimestamp !== undefined) continue;
          const origin = upsyncOriginOf(mirror, tenant);
          if (origin?.registration === name) {
            const isSame =
              origin.uid === original.metadata.uid &&
              includes(original.spec, mirror.spec) &&
              includes(mirror.metadata.labels, original.metadata.labels) &&
              includes(original.metadata.labels, mirror.metadata.labels);
            if (!isSame) broken(1, `${tenant}/${id} of ${name} differs from its original`);
          } else if (findCondition(registration.status?.conditions, "UpsyncConflict")?.status !== "True") {
            broken(5, `${tenant}/${id} of ${name} is not mirrored, and the registration does not say so`);
          }
        }
        for (const [id, mirror] of workloads) {
          const { metadata } = mirror;
          const origin = upsyncOriginOf(mirror, tenant);
          if (origin?.registration !== name || mirror.kind !== kind || !covers(mirror)) continue;
          const isThere = there.some((each) => each.metadata.name === metadata.name);
          if (isThere || metadata.deletionTimestamp !== undefined || isHeld(registration)) continue;
          broken(1, `${tenant}/${id} has no original on ${name} any more, and is kept without saying so`);
        }
      }
    }
  }
}

/** Whether a registration mirrors an object of its cluster. */
function isCovered({ spec }: ClusterRegistration, { apiVersion, kind, metadata }: KubeObject): boolean {
  const rules = (spec.upsync ?? []).filter((rule) => rule.kind === kind && rule.apiVersion === apiVersion);
  return isOptedIn(rules, { namespace: metadata.namespace ?? "", labels: metadata.labels });
}

const isHeld = ({ status }: ClusterRegistration): boolean =>
  findCondition(status?.conditions, "UpsyncHeld")?.status === "True";

const isReadable = ({ status, metadata }: ClusterRegistration): boolean =>
  findCondition(status?.conditions, "Ready")?.status === "True" && metadata.deletionTimestamp === undefined;

function typesOf({ spec }: ClusterRegistration): readonly Readonly<{ apiVersion: string; kind: string }>[] {
  const types = new Map(
    (spec.upsync ?? []).map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]),
  );
  return [...types.values()];
}

/** Sets, or removes, the confirmation of all held deletions. Returns how many registrations held some. */
export async function confirmMirrors(
  { servers, monitor, judged }: SimulationEnvironment,
  { isConfirmed }: Readonly<{ isConfirmed: boolean }>,
): Promise<number> {
  let count = 0;
  for (const [index, tenant] of servers.tenants.entries()) {
    if (!judged.includes(tenant)) continue;
    for (const [name, registration] of monitor.truth.of(tenant).registrations) {
      const held = registration.status?.upsync?.heldDeletions ?? 0;
      const isSet = registration.metadata.annotations?.[confirmUpsyncAnnotation] !== undefined;
      // A cluster that cannot be read keeps what it held.
      const isPending = held > 0 && isHeld(registration) && isReadable(registration);
      if (isConfirmed ? !isPending : !isSet) continue;
      count += 1;
      const annotations = { [confirmUpsyncAnnotation]: isConfirmed ? String(held) : null };
      await servers.users[index]?.patch(
        { ...registrations, name },
        { type: "merge", body: { metadata: { annotations } } },
      );
    }
  }
  return count;
}
