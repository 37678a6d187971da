import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { Informer } from "@tmc/kube/informer/informer.ts";
import type { TypeId } from "../../api/workload-kinds.ts";
import { isMetadataOnly, type WatchedResource } from "../../upstream/watched-resources.ts";
import { createListPriority, type ListPriority } from "./list-priority.ts";
import { type ResourceHandler, type ResourceInformerOptions, startResourceInformer } from "./resource-informer.ts";
import type { SecretTracker } from "./secret-watch.ts";

export type WorkloadInformerOptions = Omit<
  ResourceInformerOptions,
  "client" | "type" | "what" | "isOptional" | "beforeSecondPage"
> &
  Readonly<{
    /** Below one logical cluster, or below all of them. */
    client: Pick<KubeClient, "list" | "listAll" | "watch" | "metadata">;
    /** Also gets the secrets: registrations refer to them too, and one informer serves both. */
    secrets: SecretTracker;
    /** Sync records come last: a new workload has none, and need not wait for thousands of them. */
    priority: ListPriority<TypeId>;
  }>;

/** The order in which resources are listed: sync records after all others. */
export function listPriorityOf(resources: Iterable<WatchedResource>, clock: Clock): ListPriority<TypeId> {
  const first = [...resources].filter(({ role }) => role !== "record").map(({ id }) => id);
  return createListPriority({ first, clock });
}

/** Starts the informer of one resource that sync depends on. Of dependencies it reads the metadata only. */
export function startWorkloadInformer(
  resource: WatchedResource,
  { client, secrets, priority, ...options }: WorkloadInformerOptions,
  handler: ResourceHandler,
): Informer {
  const isRecord = resource.role === "record";
  const feeds = resource.kind === "Secret" ? [secrets.feed] : [];
  return startResourceInformer(
    {
      ...options,
      client: isMetadataOnly(resource) ? client.metadata : client,
      type: resource.type,
      what: resource.id,
      // Each tenant serves our own kind; any other may be missing.
      isOptional: !isRecord,
      beforeSecondPage: isRecord ? priority.yieldToFirst : undefined,
    },
    {
      listed: (objects, list) => {
        for (const feed of feeds) feed.listed(objects);
        handler.listed(objects, list);
        priority.arrived(resource.id);
      },
      absent: (error, list) => {
        handler.absent?.(error, list);
        priority.arrived(resource.id);
      },
      changed: (object) => {
        options.listener.workloadEvent?.("modified");
        for (const feed of feeds) feed.changed(object);
        handler.changed(object);
      },
      deleted: (object) => {
        options.listener.workloadEvent?.("deleted");
        for (const feed of feeds) feed.deleted(object);
        handler.deleted(object);
      },
    },
  );
}
