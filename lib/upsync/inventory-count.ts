import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type ObjectKey, workloadAddress, workloadKey } from "../model/key.ts";
import { birthplaceOf } from "../sync/ownership/upsync-origin.ts";
import { endedLately, isFull } from "./deletion-log.ts";
import { confirmUpsyncAnnotation, type Known, type Survey, survey } from "./inventory.ts";
import { isOptedIn, type OptIn } from "./opt-in.ts";
import type { UpsyncTools } from "./tools.ts";

/** One cluster, and what it opts in to. */
export type Subject = Readonly<{ key: ObjectKey; registration: ClusterRegistration; optIns: readonly OptIn[] }>;

/**
 * Looks at everything of one cluster; undefined while its watches do not know all of it. Fails with a fault when the cluster
 * has to be asked and does not answer.
 */
export async function headcount(
  { workloads, births, clock, settings }: UpsyncTools,
  { key, registration, optIns }: Subject,
  signal: AbortSignal,
): Promise<Survey | undefined> {
  const all = await births.all(key, optIns, signal);
  if (all === undefined) return undefined;
  const lists = await Promise.all(
    optIns.map(async ({ type, rules }) => {
      const objects = await workloads.list(key.cluster, type.type, signal);
      return objects.map(({ metadata }): [string, Known] => {
        const { namespace = "", name = "", uid = "", labels } = metadata;
        const { apiVersion, kind } = type;
        const place = birthplaceOf({ apiVersion, kind, metadata }, key.cluster);
        const { name: id } = workloadKey(key.cluster, { type: type.type, namespace, name });
        return [
          id,
          {
            uid,
            isFromHere: place?.registration === key.name,
            isDeleting: metadata.deletionTimestamp !== undefined,
            isOptedIn: isOptedIn(rules, { namespace, labels }),
          },
        ];
      });
    }),
  );
  const upstream = new Map(lists.flat());
  const missing = [...all.keys()].filter((name) => !upstream.has(name));
  const namespaces = new Map<string, boolean>();
  for (const namespace of new Set(missing.map((name) => workloadAddress({ name })?.namespace ?? ""))) {
    const labels = await workloads.namespaceLabels(key.cluster, namespace, signal);
    namespaces.set(namespace, labels !== undefined);
  }
  const confirmed = Number(registration.metadata.annotations?.[confirmUpsyncAnnotation] ?? 0);
  return survey({
    births: all,
    upstream,
    homeless: new Set(missing.filter((name) => namespaces.get(workloadAddress({ name })?.namespace ?? "") !== true)),
    endedLately: endedLately(registration.status, clock.now()),
    isFull: isFull(registration.status, clock.now()),
    confirmed: Number.isFinite(confirmed) ? confirmed : 0,
    brake: settings.brake,
  });
}
