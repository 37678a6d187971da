import { createHash } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { accountNamespace } from "../api/export-access.ts";
import { group, managedByTmc } from "../api/group.ts";
import { clip } from "../model/text.ts";
import type { Log } from "../observe/log.ts";
import type { ControllerConfig } from "./flags.ts";

const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
/** The Leases that name settings are in the workspace with the identity of the hub. */
export const leaseCollection = { type: leases, namespace: accountNamespace } as const;
/** Whoever may write Leases there must not fill the log. */
const maxShownLength = 200;
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };

/** The fields of a Lease that are used here. */
export type Lease = KubeObject &
  Readonly<{ spec?: Readonly<{ holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string }> }>;

/** Names the settings of a controller in its Lease, as JSON. */
export const settingsAnnotation = `${group}/controller-settings`;
/** Marks the Leases that name settings. */
export const settingsLabel = `${group}/controller-settings`;
/** A Lease that was renewed within this time belongs to a running controller. */
const liveSeconds = 150;
export const settingsPeriodSeconds = 60;

/** Settings by which two controllers of the same workspaces would write different statuses or delete different copies. */
export type SharedSettings = Readonly<Record<string, unknown>>;

/** The settings that all controllers of a workspace must share. Shards, workers and intervals may differ. */
export function sharedSettings(config: ControllerConfig, customTypes: readonly string[]): SharedSettings {
  const { sources, template } = config.clusterSources;
  return {
    // The names: the same clusters may be in files of other paths on another machine.
    clusterKubeconfigs: [...config.clusterKubeconfigs.keys()].toSorted(),
    clusterSources: sources,
    secretTemplate: template ?? null,
    customTypes: customTypes.toSorted(),
    deletionGuard: config.deletionGuard,
    allowedEndpoints: config.allowedEndpoints,
    allowPrivateEndpoints: config.allowPrivateEndpoints,
  };
}

export type SettingsRecorder = Readonly<{
  /** A client for the workspace with the identity of the hub. */
  client: KubeClient;
  settings: SharedSettings;
  clock: Clock;
}>;

/**
 * Renews the Lease of these settings, and returns how the settings of other running controllers differ. Controllers with the
 * same settings share a Lease, so that the number of Leases is small.
 */
export async function recordSettings({ client, settings, clock }: SettingsRecorder): Promise<readonly string[]> {
  const name = leaseNameOf(settings);
  const address = { ...leaseCollection, name };
  const now = clock.now();
  const spec = {
    holderIdentity: name,
    leaseDurationSeconds: liveSeconds,
    renewTime: new Date(now).toISOString().replace("Z", "000Z"),
  };
  const lease = await client.get<Lease>(address).catch((error: unknown) => {
    if (faultOf(error) === "not-found") return undefined;
    throw error;
  });
  if (lease === undefined) {
    const metadata = {
      name,
      labels: { ...managedByTmc, [settingsLabel]: "true" },
      annotations: { [settingsAnnotation]: JSON.stringify(settings) },
    };
    await createLease(client, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec });
  } else await client.update<Lease>(address, { ...lease, spec });
  const { items } = await client.list<Lease>(leaseCollection, { labelSelector: settingsLabel });
  return items
    .filter((each) => each.metadata.name !== name && isLive(each, now))
    .map(({ metadata }) => differencesOf(settings, metadata.annotations?.[settingsAnnotation]));
}

/** Creates a Lease, and its namespace if there is none. */
async function createLease(client: KubeClient, lease: Lease): Promise<void> {
  await client.create(leaseCollection, lease).catch(async (error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    const metadata = { name: accountNamespace, labels: managedByTmc };
    await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata });
    await client.create(leaseCollection, lease);
  });
}

/** Removes the Lease at a clean end. Another controller with the same settings writes it again. */
export async function forgetSettings({ client, settings }: SettingsRecorder): Promise<void> {
  await client.delete({ ...leaseCollection, name: leaseNameOf(settings) });
}

/** Records the settings and warns about other controllers with other settings, until the returned function is called. */
export function watchSettings(recorder: SettingsRecorder, log: Log): () => Promise<void> {
  const { clock } = recorder;
  let known = "";
  let cancel = (): void => {};
  let isStopped = false;
  /** An installation may not grant Leases, or the hub may be unreachable. */
  const onFailure = (error: unknown): void => {
    if (faultOf(error) === undefined) throw error;
    log.debug("the settings of controllers cannot be compared", { error });
  };
  const record = async (): Promise<void> => {
    const others = await recordSettings(recorder).catch((error: unknown) => {
      onFailure(error);
      return [];
    });
    const found = others.toSorted().join("; ");
    if (found !== known && found !== "")
      log.warn("another controller with other settings serves the same workspaces; they undo each other's work", {
        differences: found,
      });
    known = found;
    if (isStopped) return;
    cancel = clock.after(settingsPeriodSeconds * 1000, () => {
      recording = record();
    });
  };
  let recording = record();
  return async () => {
    isStopped = true;
    cancel();
    await recording;
    cancel();
    await forgetSettings(recorder).catch(onFailure);
  };
}

function leaseNameOf(settings: SharedSettings): string {
  return `tmc-settings-${createHash("sha256").update(JSON.stringify(settings)).digest("hex").slice(0, 12)}`;
}

function isLive({ spec }: Lease, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(spec?.renewTime ?? "")) < liveSeconds * 1000;
}

/** The settings of another controller that differ, such as `clusterKubeconfigs is ["east"] here and [] there`. */
function differencesOf(settings: SharedSettings, text: string | undefined): string {
  let others: unknown;
  try {
    others = JSON.parse(text ?? "{}");
  } catch {
    return "unreadable settings";
  }
  const there = new Map(Object.entries(typeof others === "object" && others !== null ? others : {}));
  return Object.entries(settings)
    .map(([name, value]) => ({ name, here: JSON.stringify(value), there: JSON.stringify(there.get(name)) }))
    .filter((each) => each.here !== each.there)
    .map((each) => `${each.name} is ${each.here} here and ${clip(each.there ?? "unknown", maxShownLength)} there`)
    .join(", ");
}
