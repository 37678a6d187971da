import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { diffMergePatch, type MergePatch } from "@tmc/kube/merge-patch.ts";
import { withReasonsAlone } from "../model/condition.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import { TenantNotBound } from "../model/tenant-errors.ts";
import { clientOf } from "./logical-cluster.ts";
import { reconciledTypes } from "./watched-resources.ts";

const secretType: ResourceType = { group: "", version: "v1", plural: "secrets" };
const fieldManager = "tmc";

/** A write of a hub, for metrics. */
export type HubWrite = Readonly<{ key: ObjectKey; part: "status" | "finalizers" }>;

/** The requests of a hub to its server; each call is one request. */
export interface HubRequests {
  /** Reads an object; undefined only if the server reports that this object does not exist. */
  get(key: ObjectKey, signal: AbortSignal): Promise<KubeObject | undefined>;
  patch(key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal): Promise<KubeObject>;
  readSecret: Hub["readSecret"];
}

/** Creates the requests over a client at the server's root; `onWrite` is called before every write. */
export function createHubRequests(client: KubeClient, onWrite: (write: HubWrite) => void = () => {}): HubRequests {
  const addressOf = ({ kind, name }: ObjectKey) => ({ type: reconciledTypes[kind], name });
  return {
    get: async (key, signal) => {
      try {
        return await clientOf(client, key.logicalCluster).get<KubeObject>(addressOf(key), { signal });
      } catch (error) {
        return undefinedIfGone(asUpstreamError(error, key.name));
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
        throw asUpstreamError(error, key.name);
      }
    },
    readSecret: async ({ logicalCluster, namespace, name }, signal) => {
      try {
        const secret = await clientOf(client, logicalCluster).get<KubeObject>(
          { type: secretType, namespace, name },
          { signal },
        );
        return {
          type: typeof secret.type === "string" ? secret.type : "",
          labels: secret.metadata.labels ?? {},
          data: stringsOf(secret.data),
          resourceVersion: secret.metadata.resourceVersion ?? "",
        };
      } catch (error) {
        return undefinedIfGone(asUpstreamError(error, name));
      }
    },
  };
}

/**
 * Turns errors that have nothing to do with the requested object into the transient fault "unreachable".
 *
 * A 404 that does not name the object means that the type or workspace is not served now, and says nothing about stored objects. A 401
 * is about TMC's own credentials, which will be renewed. A 410 is about a resourceVersion that the next request does not use. No key may
 * be dead-lettered for these. The error for a tenant that is no longer bound stays unchanged.
 */
export function asUpstreamError(error: unknown, name?: string): unknown {
  if (error instanceof TenantNotBound) return error;
  const fault = faultOf(error);
  const isUnspecific = fault === "not-found" && (name === undefined || nameIn(error) !== name);
  if (!isUnspecific && fault !== "unauthorized" && fault !== "expired") return error;
  const message = error instanceof Error ? error.message : fault;
  return new ControllerError("unreachable", `upstream: ${message}`, { cause: error });
}

/** The patch that replaces the status of the object that was read (`seen`); undefined if nothing differs. */
export function statusPatch(key: ObjectKey, seen: KubeObject, status: object): MergePatch | undefined {
  const difference = diffMergePatch(statusOf(seen), status);
  if (difference === undefined) return undefined;
  return { metadata: { resourceVersion: versionOf(key, seen) }, status: difference };
}

/**
 * Writes a status. One that the server rejects as invalid is written again with its conditions by their reasons alone: a
 * condition that stays as it was would claim what is no longer true.
 */
export async function writeAcceptedStatus<T extends KubeObject>(
  seen: T,
  status: object,
  write: (status: object) => Promise<T>,
): Promise<T> {
  try {
    return await write(status);
  } catch (error) {
    const reduced = faultOf(error) === "invalid" ? withReasonsAlone(seen.status, status) : undefined;
    if (reduced === undefined) throw error;
    return write(reduced);
  }
}

/** The patch that replaces the finalizers of the object that was read (`seen`). */
export function finalizersPatch(key: ObjectKey, seen: KubeObject, finalizers: readonly string[]): MergePatch {
  return { metadata: { resourceVersion: versionOf(key, seen), finalizers } };
}

/** Returns undefined for an error that means that the object does not exist; throws any other. */
export function undefinedIfGone(error: unknown): undefined {
  // The objects of a tenant that is not bound may still exist: TMC cannot read them.
  if (faultOf(error) !== "not-found" || error instanceof TenantNotBound) throw error;
  return undefined;
}

function nameIn(error: unknown): string | undefined {
  return error instanceof ApiError ? error.body?.details?.name : undefined;
}

function versionOf(key: ObjectKey, { metadata }: KubeObject): string {
  if (metadata.resourceVersion !== undefined) return metadata.resourceVersion;
  throw new ControllerError("invalid", `upstream: write ${formatKey(key)}: the object has no resourceVersion`);
}

function statusOf({ status }: KubeObject): object {
  return typeof status === "object" && status !== null ? status : {};
}

function stringsOf(data: unknown): Readonly<Record<string, string>> {
  if (typeof data !== "object" || data === null) return {};
  const entries: [string, unknown][] = Object.entries(data);
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
