import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { diffMergePatch, type MergePatch } from "@tmc/kube/merge-patch.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import { TenantNotBound } from "../model/tenant-errors.ts";
import { clientOf } from "./logical-cluster.ts";
import { reconciledTypes } from "./reconciled-types.ts";

/** Secrets, the way URLs name them. */
const secretType: ResourceType = { group: "", version: "v1", plural: "secrets" };
const fieldManager = "tmc";

/** A write that a hub makes, for counting. */
export type HubWrite = Readonly<{ key: ObjectKey; part: "status" | "finalizers" }>;

/** The requests that every hub makes of its server; each call here that answers is one request. */
export interface HubRequests {
  /** The object as it is now; undefined only when the server says that this very object is not there. */
  get(key: ObjectKey, signal: AbortSignal): Promise<KubeObject | undefined>;
  patch(key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal): Promise<KubeObject>;
  readSecret: Hub["readSecret"];
}

/** Creates the requests of a hub over a client at the server's root; `onWrite` is told of every write before it is made. */
export function createHubRequests(client: KubeClient, onWrite: (write: HubWrite) => void = () => {}): HubRequests {
  const addressOf = ({ kind, name }: ObjectKey) => ({ type: reconciledTypes[kind], name });
  return {
    get: async (key, signal) => {
      try {
        return await clientOf(client, key.logicalCluster).get<KubeObject>(addressOf(key), { signal });
      } catch (error) {
        return undefinedIfGone(troubleOfHub(error, key.name));
      }
    },
    patch: async (key, part, patch, signal) => {
      onWrite({ key, part });
      const options = { fieldManager, signal, ...(part === "status" ? { subresource: part } : {}) };
      try {
        return await clientOf(client, key.logicalCluster).patch<KubeObject>(
          addressOf(key),
          { type: "merge", body: patch },
          options,
        );
      } catch (error) {
        throw troubleOfHub(error, key.name);
      }
    },
    readSecret: async ({ logicalCluster, namespace, name }, signal) => {
      try {
        const secret = await clientOf(client, logicalCluster).get<KubeObject>(
          { type: secretType, namespace, name },
          { signal },
        );
        return { data: textsOf(secret.data), resourceVersion: secret.metadata.resourceVersion ?? "" };
      } catch (error) {
        return undefinedIfGone(troubleOfHub(error, name));
      }
    },
  };
}

/**
 * Makes the fault "unreachable" of what the hub refuses for reasons that have nothing to do with the object that was asked for.
 *
 * A 404 that does not name the object is for a type or a workspace that is not served just now, and says nothing about what is
 * stored. A 401 is about the operator's credentials, which somebody will renew, and a 410 about a version that was forgotten, which the
 * next request does not name: no key may be given up for these. A tenant that is no longer bound stays what it is.
 */
export function troubleOfHub(error: unknown, name?: string): unknown {
  if (error instanceof TenantNotBound) return error;
  const fault = faultOf(error);
  const isNameless = fault === "not-found" && (name === undefined || nameIn(error) !== name);
  if (!isNameless && fault !== "unauthorized" && fault !== "expired") return error;
  const words = error instanceof Error ? error.message : fault;
  return new ControllerError("unreachable", `hub: ${words}`, { cause: error });
}

/** The patch that replaces the status of what was `seen`; undefined when nothing differs. */
export function statusPatch(key: ObjectKey, seen: KubeObject, status: object): MergePatch | undefined {
  const difference = diffMergePatch(statusOf(seen), status);
  if (difference === undefined) return undefined;
  return { metadata: { resourceVersion: versionOf(key, seen) }, status: difference };
}

/** The patch that replaces the finalizers of what was `seen`. */
export function finalizersPatch(key: ObjectKey, seen: KubeObject, finalizers: readonly string[]): MergePatch {
  return { metadata: { resourceVersion: versionOf(key, seen), finalizers } };
}

/** Makes nothing of an error that says that the object is not there; any other is thrown. */
export function undefinedIfGone(error: unknown): undefined {
  // Nobody has looked whether the objects of a tenant that has gone are there.
  if (faultOf(error) !== "not-found" || error instanceof TenantNotBound) throw error;
  return undefined;
}

function nameIn(error: unknown): string | undefined {
  return error instanceof ApiError ? error.body?.details?.name : undefined;
}

function versionOf(key: ObjectKey, { metadata }: KubeObject): string {
  if (metadata.resourceVersion !== undefined) return metadata.resourceVersion;
  throw new ControllerError("invalid", `hub: write ${formatKey(key)}: what was seen has no resourceVersion`);
}

function statusOf({ status }: KubeObject): object {
  return typeof status === "object" && status !== null ? status : {};
}

function textsOf(data: unknown): Readonly<Record<string, string>> {
  if (typeof data !== "object" || data === null) return {};
  const entries: [string, unknown][] = Object.entries(data);
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
