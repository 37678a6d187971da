import { valueAt } from "@tmc/kube/json.ts";
import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import { parseServerAddress } from "@tmc/kube/kubeconfig/server-address.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Condition } from "../model/condition.ts";
import { parseTimestamp } from "../model/timestamp.ts";
import type { Pending, SourceOrigin } from "./cluster.ts";
import { type KubeconfigSecret, renderSecret, type SecretTemplate, secretReferenceError } from "./secret-template.ts";
import type { SourceKind } from "./source-kinds.ts";

export type ReadContext = Readonly<{
  logicalCluster: string;
  /** The operator's secret template. */
  template: SecretTemplate | undefined;
  nowMs: number;
}>;

export type SourceSpec = ClusterRegistration["spec"];
export type SourceStatus = NonNullable<ClusterRegistration["status"]>;

export function sourceOriginOf(source: SourceKind, logicalCluster: string, { metadata }: KubeObject): SourceOrigin {
  return {
    logicalCluster,
    source,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    createdMs: timestampAt(metadata, "creationTimestamp") ?? 0,
  };
}

/** Returns the ClusterRegistration that is equivalent to an object of another kind. */
export function toRegistration(
  { metadata }: KubeObject,
  spec: Omit<SourceSpec, "location">,
  status: SourceStatus,
): ClusterRegistration {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: withoutManagedFields(metadata),
    spec: { location: locationOf(metadata.labels ?? {}), ...spec },
    status,
  };
}

/** Labels that give the location of a cluster, the most specific first. Kinds of other projects have no location field. */
const locationLabels = ["location", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "region"] as const;

function locationOf(labels: Readonly<Record<string, string>>): string {
  const label = locationLabels.find((key) => Object.hasOwn(labels, key));
  return label === undefined ? "" : (labels[label] ?? "");
}

function withoutManagedFields(metadata: ObjectMeta): ObjectMeta {
  const { managedFields: _, ...rest } = metadata;
  return rest;
}

/** Normalizes the URL of an API server, or returns why it is invalid. */
export function checkedServer(server: string): Readonly<{ server: string }> | Pending {
  try {
    const { origin, basePath, protocol } = parseServerAddress(server);
    if (protocol === "https:") return { server: origin + basePath };
    return { reason: "EndpointInvalid", message: "the endpoint is not https" };
  } catch (error) {
    // The parser's messages do not contain the URL, which may contain credentials.
    const why = error instanceof Error ? error.message : "cannot be read";
    return { reason: "EndpointInvalid", message: `the endpoint is invalid: ${why}` };
  }
}

/** Returns the Secret that an object names, or why the reference is invalid. */
export function checkedSecret(named: KubeconfigSecret): KubeconfigSecret | Pending {
  if (named.namespace === "")
    return pendingKubeconfig(`secret ${JSON.stringify(named.name)}: the namespace is missing`);
  const error = secretReferenceError(named);
  return error === undefined ? named : pendingKubeconfig(error);
}

/** Returns the Secret that the operator's template gives for an object, or why it gives none. */
export function templatedSecret(template: SecretTemplate, origin: SourceOrigin): KubeconfigSecret | Pending {
  const rendered = renderSecret(template, origin);
  return "error" in rendered ? pendingKubeconfig(rendered.error) : rendered;
}

/** Returns the fields of a registration's spec that give access to the cluster. */
export function accessFields(
  origin: SourceOrigin,
  { secret, server }: Readonly<{ secret?: KubeconfigSecret | undefined; server?: string | undefined }>,
): Pick<SourceSpec, "credentials" | "endpoint"> {
  // A user of one namespace must not send a token from a Secret of another namespace to a server of their choice.
  const isSameNamespace = secret === undefined || origin.namespace === "" || secret.namespace === origin.namespace;
  return {
    ...(secret !== undefined && { credentials: { secretRef: secret } }),
    ...(server !== undefined && isSameNamespace && { endpoint: { server } }),
  };
}

const pendingKubeconfig = (message: string): Pending => ({ reason: "KubeconfigPending", message });

// Accessors for kinds of other projects. Their schemas differ between installations, so every field is checked.

/** Returns the trimmed string at a path; empty if there is none. */
export function trimmedTextAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found.trim() : "";
}

/** Returns the array at a path; empty if there is none. */
export function arrayAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Returns the timestamp at a path in milliseconds since the epoch; undefined if there is none. */
export function timestampAt(value: unknown, ...path: readonly string[]): number | undefined {
  const text = trimmedTextAt(value, ...path);
  // Date.parse accepts almost anything: "5" is a day in 2001.
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? parseTimestamp(text) : undefined;
}

/** Returns the valid conditions in an object's status; invalid entries are skipped. */
export function parseConditions(object: unknown): readonly Condition[] {
  return arrayAt(object, "status", "conditions").flatMap((entry): readonly Condition[] => {
    const status = valueAt(entry, "status");
    if (status !== "True" && status !== "False" && status !== "Unknown") return [];
    return [
      {
        type: trimmedTextAt(entry, "type"),
        status,
        reason: trimmedTextAt(entry, "reason"),
        message: trimmedTextAt(entry, "message"),
        lastTransitionTime: trimmedTextAt(entry, "lastTransitionTime"),
      },
    ];
  });
}
