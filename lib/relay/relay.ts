import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { Informer } from "@tmc/kube/informer/informer.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { TenantRate } from "../queue/tenant-rate-limit.ts";
import { watchedResources } from "../upstream/watched-resources.ts";
import { type ChangeTracker, createChangeTracker } from "./event-to-key/change-tracker.ts";
import type { RelayedWorkloads } from "./event-to-key/workload-tracker.ts";
import type { RelayListener } from "./listener.ts";
import { createInitialLists, type InitialLists } from "./watch/initial-lists.ts";
import {
  type ResourceHandler,
  type ResourceInformerOptions,
  startResourceInformer,
} from "./watch/resource-informer.ts";
import { createSecretWatch } from "./watch/secret-watch.ts";
import { listPriorityOf, startWorkloadInformer } from "./watch/workload-informer.ts";

/** A logical cluster to watch, and a client for it. */
export type RelayedWorkspace = Readonly<{ logicalCluster: string; client: KubeClient }>;

/** The options that all relays share. */
export type RelayParts = Readonly<{
  types: Readonly<Record<ReconciledKind, ResourceType>>;
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  random: () => number;
  listener?: RelayListener | undefined;
  /** Removes from an object what the listener does not keep. @default the whole object is kept */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
  /** How many keys are sent at a time (`lib/relay/outbox/outbox.ts`). @default 1000 */
  batchSize?: number | undefined;
  /** How long a key waits to be sent together with others. @default 0 */
  gatherMs?: number | undefined;
  /** The rate limit for the keys of one tenant. @default none */
  tenantRate?: TenantRate | undefined;
  /** How often everything is listed again, so that a watch that missed something recovers. @default 30 minutes */
  relistSeconds?: number | undefined;
  /**
   * Watches all kinds that stand for clusters in a workspace, instead of ClusterRegistrations alone. An export does not
   * show the other kinds. @default ClusterRegistrations alone
   */
  watchClusterSources?: WatchClusterSources | undefined;
  /** Watches workloads too, and sends their keys. @default no workloads */
  workloads?: RelayedWorkloads | undefined;
}>;

/** Starts the informers of all kinds that stand for clusters in one logical cluster. */
export type WatchClusterSources = (
  options: Omit<ResourceInformerOptions, "type" | "what">,
  handler: ResourceHandler,
) => readonly Informer[];

export type RelayOptions = RelayParts &
  Readonly<{
    workspaces: readonly RelayedWorkspace[];
    /** The workspaces that have not answered yet and will be added. They count as not listed. @default none */
    awaited?: (() => readonly string[]) | undefined;
  }>;

/** Turns changes upstream into keys on the work queue. */
export interface Relay {
  start(): void;
  /** Stops all watches and sends the remaining keys for at most `limitMs`; returns how many keys were not sent. */
  stop(limitMs: number): Promise<number>;
  /** Whether both kinds of a logical cluster have been listed once. */
  isListed(logicalCluster: string): boolean;
  /** What has not been listed yet: logical clusters, endpoint slices, endpoints. */
  unlisted(): readonly string[];
  /** Resolves when everything has been listed once. */
  whenListed(): Promise<void>;
  /** Keys that wait to be sent. */
  readonly unsent: number;
  /** Of these, the keys that wait because their tenant exceeds its rate limit. */
  readonly limited: number;
  /** Age of the oldest key that waits for the queue; keys that wait for a rate limit do not count. */
  oldestUnsentSeconds(): number;
  /** Whether keys wait because the queue rejected the last ones. */
  readonly isQueueFailing: boolean;
}

/** A relay of single workspaces. */
export interface WorkspaceRelay extends Relay {
  /** Relays one more workspace, which is not awaited any more; one that is relayed already stays as it is. */
  add(workspace: RelayedWorkspace): void;
}

export const defaultRelistSeconds = 1_800;

/** Creates the relay for workspaces that are reached directly. A workspace that does not answer delays no other. */
export function createRelay(options: RelayOptions): WorkspaceRelay {
  const { workspaces, types, clock, random, watchClusterSources, listener = {}, transform = identity } = options;
  const { awaited = () => [] } = options;
  const relistSeconds = options.relistSeconds ?? defaultRelistSeconds;
  const tracker = createChangeTracker({ ...options, listener, onListed: () => initialLists.check() });
  const unlisted = (): readonly string[] => [...awaited(), ...tracker.unlisted()];
  const initialLists = createInitialLists(unlisted);
  const informers: Informer[] = [];
  const track = ({ logicalCluster, client }: RelayedWorkspace) => {
    const secrets = createSecretWatch({
      client: options.workloads === undefined ? client : undefined,
      clusterOf: () => logicalCluster,
      clock,
      random,
      relistSeconds,
      onChanged: tracker.secretsChanged,
      onFailure: (error, retryInMs) => listener.failed?.({ what: "Secret", scope: logicalCluster, error, retryInMs }),
    });
    return { logicalCluster, client, secrets, changes: tracker.track(logicalCluster, secrets) };
  };
  type Tenant = ReturnType<typeof track>;
  const tenants: Tenant[] = workspaces.map(track);
  let isStarted = false;

  const startKinds = ({ logicalCluster, client, changes }: Tenant): void => {
    const shared = { client, scope: logicalCluster, listener, transform, clock, random, relistSeconds };
    for (const kind of reconciledKinds) {
      const handler: ResourceHandler = {
        listed: (objects, { resourceVersion }) => changes.listed(kind, objects, resourceVersion),
        changed: (object) => changes.changed(kind, object),
        deleted: (object) => changes.deleted(kind, object),
      };
      if (kind === "ClusterRegistration" && watchClusterSources !== undefined) {
        informers.push(...watchClusterSources(shared, handler));
      } else informers.push(startResourceInformer({ ...shared, type: types[kind], what: kind }, handler));
    }
  };
  const startWorkloads = ({ logicalCluster, client, secrets, changes }: Tenant): void => {
    const { workloads } = changes;
    if (options.workloads === undefined || workloads === undefined) return;
    const resources = watchedResources(options.workloads.types);
    const shared = {
      client,
      scope: logicalCluster,
      listener,
      transform: options.workloads.transform ?? identity,
      secrets,
      priority: listPriorityOf(resources, clock),
      clock,
      random,
      relistSeconds,
    };
    for (const resource of resources) {
      informers.push(
        startWorkloadInformer(resource, shared, {
          listed: (objects, { resourceVersion }) => workloads.listed(resource.id, objects, resourceVersion),
          absent: () => workloads.absent(resource.id),
          changed: (object) => workloads.changed(resource.id, object),
          deleted: (object) => workloads.deleted(resource.id, object),
        }),
      );
    }
  };
  const startTenant = (tenant: Tenant): void => {
    startKinds(tenant);
    startWorkloads(tenant);
  };

  return {
    ...relayOf(tracker, initialLists, unlisted),
    start: () => {
      if (isStarted) return;
      isStarted = true;
      for (const tenant of tenants) startTenant(tenant);
    },
    add: (workspace) => {
      if (!tracker.has(workspace.logicalCluster)) {
        const tenant = track(workspace);
        tenants.push(tenant);
        if (isStarted) startTenant(tenant);
      }
      initialLists.check();
    },
    stop: (limitMs) =>
      stopRelay({ clock, tracker, initialLists, limitMs }, [
        ...informers.map((informer) => informer.stop()),
        ...tenants.map(({ secrets }) => secrets.stop()),
      ]),
    // Getters are not spread: a spread would copy their value once.
    get unsent() {
      return tracker.outbox.size;
    },
    get limited() {
      return tracker.outbox.limited;
    },
    get isQueueFailing() {
      return tracker.outbox.isFailing;
    },
  };
}

/** The part that is the same for all relays. */
export function relayOf(
  tracker: ChangeTracker,
  initialLists: InitialLists,
  unlisted: () => readonly string[],
): Pick<Relay, "isListed" | "unlisted" | "whenListed" | "oldestUnsentSeconds"> {
  return {
    isListed: tracker.isListed,
    unlisted,
    whenListed: initialLists.whenListed,
    oldestUnsentSeconds: () => tracker.outbox.oldestAgeSeconds(),
  };
}

/** Waits for the watches to stop and sends the remaining keys within the limit; returns how many were not sent. */
export async function stopRelay(
  {
    clock,
    tracker,
    initialLists,
    limitMs,
  }: Readonly<{ clock: Clock; tracker: ChangeTracker; initialLists: InitialLists; limitMs: number }>,
  stopping: readonly Promise<unknown>[],
): Promise<number> {
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort());
  await Promise.all(stopping);
  const unsent = await tracker.outbox.drain(limit.signal);
  cancel();
  tracker.outbox.stop();
  initialLists.end();
  return unsent;
}

const identity = (object: KubeObject): KubeObject => object;
