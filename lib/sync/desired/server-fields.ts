import {
  changedAt,
  eachObject,
  type Fields,
  groupOf,
  isFields,
  type Texts,
  textAt,
  without,
} from "../../model/json.ts";

/** A workload in the parts of which servers write some. */
export type Parts = Readonly<{
  name: string;
  labels: Texts;
  annotations: Texts;
  /** Everything but apiVersion, kind, metadata and status. */
  body: Fields;
}>;

/** The type of an object. */
export type TypeName = Readonly<{ apiVersion: string; kind: string }>;

/**
 * Takes away what a server has filled in and what holds on that server alone.
 *
 * `isAssigned` says whether whoever served the object hands out ports and addresses, as every Kubernetes does and kcp does
 * not: there, what is in those fields is what a person wrote, and stays.
 */
export function withoutServerFields(
  { apiVersion, kind }: TypeName,
  parts: Parts,
  { isAssigned }: Readonly<{ isAssigned: boolean }>,
): Parts {
  const clean = cleaners.get(`${groupOf(apiVersion)}/${kind}`);
  const cleaned = clean === undefined ? parts : clean(parts, isAssigned);
  return withBody(cleaned, templatePaths.reduce(withoutEmptyTime, cleaned.body));
}

type Cleaner = (parts: Parts, isAssigned: boolean) => Parts;

const cleaners: ReadonlyMap<string, Cleaner> = new Map<string, Cleaner>([
  ["/Service", cleanService],
  ["/PersistentVolumeClaim", cleanClaim],
  ["/ServiceAccount", cleanAccount],
  ["batch/Job", cleanJob],
  ["apps/StatefulSet", cleanStatefulSet],
]);

/** Where objects that are only planned have metadata; a client that marshals Go structs writes a time of null there. */
const templatePaths: readonly (readonly string[])[] = [
  ["spec", "template", "metadata", "creationTimestamp"],
  ["spec", "jobTemplate", "metadata", "creationTimestamp"],
  ["spec", "jobTemplate", "spec", "template", "metadata", "creationTimestamp"],
];

function withoutEmptyTime(body: Fields, path: readonly string[]): Fields {
  return changedAt(body, path, (time) => (time === null ? undefined : time));
}

function withBody(parts: Parts, body: Fields): Parts {
  return body === parts.body ? parts : { ...parts, body };
}

function cleanService(parts: Parts, isAssigned: boolean): Parts {
  const clean = (spec: unknown): unknown => {
    if (!isFields(spec)) return spec;
    // An address of one cluster means nothing on another; "None" is no address but a wish.
    const isHeadless = spec.clusterIP === "None";
    const portable = isHeadless ? spec : without(spec, "clusterIP", "clusterIPs");
    const wished = isAssigned ? without(portable, "ipFamilies", "healthCheckNodePort") : portable;
    return changedAt(wished, ["ports"], (ports) =>
      eachObject(ports, (port) => (isAssigned || port.nodePort === 0 ? without(port, "nodePort") : port)),
    );
  };
  return withBody(parts, changedAt(parts.body, ["spec"], clean));
}

/** A claim keeps the volume that a person named for it, and not the one that a controller found. */
function cleanClaim(parts: Parts): Parts {
  if (parts.annotations["pv.kubernetes.io/bound-by-controller"] === undefined) return parts;
  return withBody(
    parts,
    changedAt(parts.body, ["spec", "volumeName"], () => undefined),
  );
}

/** The tokens that a server has made for an account are its own; the other Secrets somebody named. */
function cleanAccount(parts: Parts): Parts {
  const named = (list: unknown): unknown => {
    if (!Array.isArray(list)) return list;
    const kept = list.filter((item: unknown) => !isGeneratedToken(textAt(item, "name"), parts.name));
    return kept.length === 0 ? undefined : kept;
  };
  return withBody(parts, changedAt(changedAt(parts.body, ["secrets"], named), ["imagePullSecrets"], named));
}

const controllerLabels = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const jobLabels = [...controllerLabels, "job-name", "batch.kubernetes.io/job-name"];

/** A Job that did not choose its own selector has one made of its uid, which is another on each cluster. */
function cleanJob(parts: Parts): Parts {
  const { spec } = parts.body;
  if (!isFields(spec) || spec.manualSelector === true) return parts;
  const hasGenerated = (selector: unknown): boolean =>
    isFields(selector) &&
    isFields(selector.matchLabels) &&
    controllerLabels.some((label) => textAt(selector, "matchLabels", label) !== "");
  const withoutJobLabels = (labels: unknown): unknown => (isFields(labels) ? without(labels, ...jobLabels) : labels);
  const unselected = changedAt(parts.body, ["spec", "selector"], (selector) =>
    hasGenerated(selector) ? undefined : selector,
  );
  return {
    ...parts,
    labels: Object.fromEntries(Object.entries(parts.labels).filter(([name]) => !jobLabels.includes(name))),
    body: changedAt(unselected, ["spec", "template", "metadata", "labels"], withoutJobLabels),
  };
}

/** Servers give the claims that a StatefulSet plans a status, as if they were there. */
function cleanStatefulSet(parts: Parts): Parts {
  const planned = (claim: Fields): Fields =>
    changedAt(without(claim, "status"), ["metadata", "creationTimestamp"], (time) =>
      time === null ? undefined : time,
    );
  return withBody(
    parts,
    changedAt(parts.body, ["spec", "volumeClaimTemplates"], (claims) => eachObject(claims, planned)),
  );
}

/** Tells whether a label of a workload was put there by the hub and says nothing on a cluster. */
export function isHubLabel(name: string): boolean {
  return isOfKcp(name);
}

/** Tells whether an annotation of a workload was put there by the hub, by its controllers or by kubectl, or is for TMC alone. */
export function isHubAnnotation(name: string): boolean {
  return isOfKcp(name) || name.startsWith("deployment.kubernetes.io/") || hubAnnotations.has(name);
}

/** `kcp.io/cluster`, `internal.workload.kcp.io/synctarget`, and all of ours, `tmc.kcp.io/…`. */
function isOfKcp(name: string): boolean {
  const [domain = ""] = name.split("/", 1);
  return domain === "kcp.io" || domain.endsWith(".kcp.io");
}

/** What controllers of a Kubernetes hub note on the objects that they have worked on. */
const hubAnnotations: ReadonlySet<string> = new Set([
  // A second copy of the object, with all that the first must not carry down.
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

/** The type of Secret that holds a service account's token. */
const tokenType = "kubernetes.io/service-account-token";

/** Tells whether every server makes an object of this kind and name by itself, in every namespace. */
export function isServerMade(kind: string, name: string): boolean {
  return (
    (kind === "ServiceAccount" && name === "default") ||
    (kind === "ConfigMap" && (name === "kube-root-ca.crt" || name === "openshift-service-ca.crt"))
  );
}

/** Tells whether a Secret holds a token, by its type: it opens the doors of the server that made it, and no other's. */
export function isTokenSecret(secret: Readonly<{ kind: string; type?: unknown }>): boolean {
  return secret.kind === "Secret" && secret.type === tokenType;
}

/** Tells whether a Secret that an account lists was made for it by a server: `web-token-x7k2p`, `web-dockercfg-9d8fz`. */
export function isGeneratedToken(secret: string, account: string): boolean {
  const rest = secret.startsWith(`${account}-`) ? secret.slice(account.length + 1) : "";
  return /^(token|dockercfg)-[a-z0-9]{5}$/.test(rest);
}
