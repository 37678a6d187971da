import { type Fields, isFields, textAt } from "@tmc/kube/json.ts";
import { apiGroupOf, changedAt, eachObject, type Texts, without } from "../../model/json.ts";

/** The parts of a workload that contain fields of servers. */
export type WorkloadParts = Readonly<{
  name: string;
  labels: Texts;
  annotations: Texts;
  /** All fields except apiVersion, kind, metadata and status. */
  body: Fields;
}>;

export type TypeName = Readonly<{ apiVersion: string; kind: string }>;

/**
 * Removes the fields that a server has set and that are valid only on that server.
 *
 * `isAssigned` says whether the server assigns ports and addresses. Every Kubernetes does. kcp does not: there users wrote
 * these fields, and they are kept.
 */
export function withoutServerFields(
  { apiVersion, kind }: TypeName,
  parts: WorkloadParts,
  { isAssigned }: Readonly<{ isAssigned: boolean }>,
): WorkloadParts {
  const clean = cleaners.get(`${apiGroupOf(apiVersion)}/${kind}`);
  const cleaned = clean === undefined ? parts : clean(parts, isAssigned);
  return withBody(cleaned, templateTimestampPaths.reduce(withoutNullTimestamp, cleaned.body));
}

type Cleaner = (parts: WorkloadParts, isAssigned: boolean) => WorkloadParts;

const cleaners: ReadonlyMap<string, Cleaner> = new Map<string, Cleaner>([
  ["/Service", cleanService],
  ["/PersistentVolumeClaim", cleanClaim],
  ["/ServiceAccount", cleanServiceAccount],
  ["batch/Job", cleanJob],
  ["apps/StatefulSet", cleanStatefulSet],
]);

/** Timestamps in the metadata of templates; clients that marshal Go structs write null there. */
const templateTimestampPaths: readonly (readonly string[])[] = [
  ["spec", "template", "metadata", "creationTimestamp"],
  ["spec", "jobTemplate", "metadata", "creationTimestamp"],
  ["spec", "jobTemplate", "spec", "template", "metadata", "creationTimestamp"],
];

function withoutNullTimestamp(body: Fields, path: readonly string[]): Fields {
  return changedAt(body, path, (timestamp) => (timestamp === null ? undefined : timestamp));
}

function withBody(parts: WorkloadParts, body: Fields): WorkloadParts {
  return body === parts.body ? parts : { ...parts, body };
}

function cleanService(parts: WorkloadParts, isAssigned: boolean): WorkloadParts {
  const clean = (spec: unknown): unknown => {
    if (!isFields(spec)) return spec;
    // An address is valid on one cluster only. "None" is not an address: it asks for a headless Service.
    const isHeadless = spec.clusterIP === "None";
    const portable = isHeadless ? spec : without(spec, "clusterIP", "clusterIPs");
    const desired = isAssigned ? without(portable, "ipFamilies", "healthCheckNodePort") : portable;
    return changedAt(desired, ["ports"], (ports) =>
      eachObject(ports, (port) => (isAssigned || port.nodePort === 0 ? without(port, "nodePort") : port)),
    );
  };
  return withBody(parts, changedAt(parts.body, ["spec"], clean));
}

/** A claim keeps a volume that a user named, but not one that a controller bound. */
function cleanClaim(parts: WorkloadParts): WorkloadParts {
  if (parts.annotations["pv.kubernetes.io/bound-by-controller"] === undefined) return parts;
  return withBody(
    parts,
    changedAt(parts.body, ["spec", "volumeName"], () => undefined),
  );
}

/** Removes the tokens that a server generated for a service account; users named the other Secrets. */
function cleanServiceAccount(parts: WorkloadParts): WorkloadParts {
  const withoutTokens = (list: unknown): unknown => {
    if (!Array.isArray(list)) return list;
    const kept = list.filter((item: unknown) => !isGeneratedToken(textAt(item, "name"), parts.name));
    return kept.length === 0 ? undefined : kept;
  };
  const withoutSecrets = changedAt(parts.body, ["secrets"], withoutTokens);
  return withBody(parts, changedAt(withoutSecrets, ["imagePullSecrets"], withoutTokens));
}

const controllerLabels = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const jobLabels = [...controllerLabels, "job-name", "batch.kubernetes.io/job-name"];

/**
 * Removes the time to live of a Job: a cluster that deleted its finished copy would get it again, and do the work again. The
 * selector of a Job without `manualSelector` is generated from its uid, which differs on each cluster.
 */
function cleanJob(job: WorkloadParts): WorkloadParts {
  const withoutLifetime = changedAt(job.body, ["spec", "ttlSecondsAfterFinished"], () => undefined);
  const parts = withBody(job, withoutLifetime);
  const { spec } = parts.body;
  if (!isFields(spec) || spec.manualSelector === true) return parts;
  const isGenerated = (selector: unknown): boolean =>
    isFields(selector) &&
    isFields(selector.matchLabels) &&
    controllerLabels.some((label) => textAt(selector, "matchLabels", label) !== "");
  const withoutJobLabels = (labels: unknown): unknown => (isFields(labels) ? without(labels, ...jobLabels) : labels);
  const withoutSelector = changedAt(parts.body, ["spec", "selector"], (selector) =>
    isGenerated(selector) ? undefined : selector,
  );
  return {
    ...parts,
    labels: Object.fromEntries(Object.entries(parts.labels).filter(([name]) => !jobLabels.includes(name))),
    body: changedAt(withoutSelector, ["spec", "template", "metadata", "labels"], withoutJobLabels),
  };
}

/** Servers add a status to the claim templates of a StatefulSet. */
function cleanStatefulSet(parts: WorkloadParts): WorkloadParts {
  const cleanTemplate = (claim: Fields): Fields =>
    withoutNullTimestamp(without(claim, "status"), ["metadata", "creationTimestamp"]);
  return withBody(
    parts,
    changedAt(parts.body, ["spec", "volumeClaimTemplates"], (claims) => eachObject(claims, cleanTemplate)),
  );
}

/** Whether a label of a workload belongs to the control plane and means nothing downstream. */
export function isUpstreamLabel(name: string): boolean {
  return isKcpKey(name);
}

/** Whether an annotation of a workload is for the control plane, its controllers, kubectl or TMC, and means nothing downstream. */
export function isUpstreamAnnotation(name: string): boolean {
  return isKcpKey(name) || name.startsWith("deployment.kubernetes.io/") || upstreamAnnotations.has(name);
}

/** `kcp.io/cluster`, `internal.workload.kcp.io/synctarget`, and all of ours, `tmc.kcp.io/…`. */
function isKcpKey(name: string): boolean {
  const [domain = ""] = name.split("/", 1);
  return domain === "kcp.io" || domain.endsWith(".kcp.io");
}

/** Annotations that kubectl and the controllers of a Kubernetes upstream write. */
const upstreamAnnotations: ReadonlySet<string> = new Set([
  // A second copy of the object, with all fields that must not be sent.
  "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.daemonset.template.generation",
  "batch.kubernetes.io/job-tracking",
  "batch.kubernetes.io/cronjob-scheduled-timestamp",
  "autoscaling.alpha.kubernetes.io/conditions",
  "autoscaling.alpha.kubernetes.io/current-metrics",
  "pv.kubernetes.io/bind-completed",
  "pv.kubernetes.io/bound-by-controller",
  "volume.kubernetes.io/selected-node",
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
  "volume.kubernetes.io/storage-resizer",
]);

const tokenType = "kubernetes.io/service-account-token";

/** Whether every server creates an object of this kind and name by itself in every namespace. */
export function isServerCreated(kind: string, name: string): boolean {
  return (
    (kind === "ServiceAccount" && name === "default") ||
    (kind === "ConfigMap" && (name === "kube-root-ca.crt" || name === "openshift-service-ca.crt"))
  );
}

/** Whether a Secret is a service account token, which is valid only on the server that issued it. */
export function isTokenSecret(secret: Readonly<{ kind: string; type?: unknown }>): boolean {
  return secret.kind === "Secret" && secret.type === tokenType;
}

/** Whether a server generated a Secret for a service account: `web-token-x7k2p`, `web-dockercfg-9d8fz`. */
export function isGeneratedToken(secret: string, serviceAccount: string): boolean {
  const suffix = secret.startsWith(`${serviceAccount}-`) ? secret.slice(serviceAccount.length + 1) : "";
  return /^(token|dockercfg)-[a-z0-9]{5}$/.test(suffix);
}
