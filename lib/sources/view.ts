import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import { parseServerAddress } from "@tmc/kube/server-address.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Origin, Pending } from "./cluster.ts";
import { timestampAt } from "./fields.ts";
import type { SecretPointer, SecretTemplate } from "./secret-template.ts";
import { pointerProblem, renderSecret } from "./secret-template.ts";
import type { SourceKind } from "./source-kinds.ts";

/** What a source needs to know besides the objects. */
export type ReadingContext = Readonly<{
  /** The logical cluster that the objects are in. */
  cluster: string;
  /** The operator's rule for secrets; undefined where none is given. */
  template: SecretTemplate | undefined;
  nowMs: number;
}>;

export type Spec = ClusterRegistration["spec"];
export type Status = NonNullable<ClusterRegistration["status"]>;

/** Where an object stands. */
export function originOf(source: SourceKind, cluster: string, { metadata }: KubeObject): Origin {
  return {
    cluster,
    source,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    createdMs: timestampAt(metadata, "creationTimestamp") ?? 0,
  };
}

/** An object of another kind as a registration that says the same. */
export function viewOf({ metadata }: KubeObject, spec: Omit<Spec, "location">, status: Status): ClusterRegistration {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: lastingMetadata(metadata),
    spec: { location: locationOf(metadata.labels ?? {}), ...spec },
    status,
  };
}

/** The labels in which people say where a cluster is, the most exact first; kinds without a location have nothing else. */
const locationLabels = ["location", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "region"] as const;

function locationOf(labels: Readonly<Record<string, string>>): string {
  const label = locationLabels.find((key) => Object.hasOwn(labels, key));
  return label === undefined ? "" : (labels[label] ?? "");
}

function lastingMetadata(metadata: ObjectMeta): ObjectMeta {
  const { managedFields: _, ...rest } = metadata;
  return rest;
}

/** An address that can be one of an API server, or why it cannot. */
export function checkedServer(server: string): Readonly<{ server: string }> | Pending {
  try {
    const { origin, basePath, protocol } = parseServerAddress(server);
    if (protocol === "https:") return { server: origin + basePath };
    return { reason: "EndpointInvalid", message: "the endpoint is not https" };
  } catch (error) {
    // The parser's words never repeat what may carry credentials.
    const why = error instanceof Error ? error.message : "cannot be read";
    return { reason: "EndpointInvalid", message: `the endpoint cannot be used: ${why}` };
  }
}

/** The secret that an object names itself, or why it cannot be looked for. */
export function namedSecret(named: SecretPointer): SecretPointer | Pending {
  if (named.namespace === "")
    return pendingKubeconfig(`secret ${JSON.stringify(named.name)}: its namespace is missing`);
  const problem = pointerProblem(named);
  return problem === undefined ? named : pendingKubeconfig(problem);
}

/** The secret that the operator's rule gives an object, or why it gives none. */
export function renderedSecret(template: SecretTemplate, origin: Origin): SecretPointer | Pending {
  const rendered = renderSecret(template, origin);
  return "problem" in rendered ? pendingKubeconfig(rendered.problem) : rendered;
}

/** The way in, as a registration names it. */
export function wayIn(
  origin: Origin,
  { secret, server }: Readonly<{ secret?: SecretPointer | undefined; server?: string | undefined }>,
): Pick<Spec, "credentials" | "endpoint"> {
  // Who may write in one namespace must not lead a token out of another to a server of his own.
  const isOwn = secret === undefined || origin.namespace === "" || secret.namespace === origin.namespace;
  return {
    ...(secret !== undefined && { credentials: { secretRef: secret } }),
    ...(server !== undefined && isOwn && { endpoint: { server } }),
  };
}

const pendingKubeconfig = (message: string): Pending => ({ reason: "KubeconfigPending", message });
