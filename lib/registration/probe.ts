import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { ApiError, faultOf, isLimitExceeded } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { listByPages } from "@tmc/kube/informer/paged-list.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { addQuantities, formatQuantity, isQuantity, parseQuantity, zeroQuantity } from "@tmc/kube/quantity.ts";
import { addResources, nothingReserved, requestsOfPod } from "../model/reserved-resources.ts";
import { readIdentity } from "./identity.ts";
import type {
  ClusterIdentity,
  Detected,
  Failed,
  Healthy,
  NodeFacts,
  OtherPods,
  ResourceTotals,
} from "./probe-outcome.ts";
import { type DetectionCall, readServedApis } from "./served-apis.ts";

/** Health endpoints, the most meaningful first. If a cluster forbids or lacks one, the next is tried. */
const healthPaths = ["/readyz", "/livez", "/version"] as const;
export type HealthPath = (typeof healthPaths)[number];

export type ProbeOptions = Readonly<{
  /** Timeout of the health check; the detection has the same timeout again. */
  timeoutMs: number;
  signal: AbortSignal;
  clock: Clock;
  /** Whether to run the detection. A health check that returns a new version always runs it. */
  detect: boolean;
  /** The path that succeeded last time, so that a cluster without `/readyz` still costs one request per probe. */
  path?: HealthPath | undefined;
  /** The known version of the cluster. */
  version?: string | undefined;
  /** Whether TMC created a namespace; its pods are not counted. @default none */
  isOwnNamespace?: ((name: string) => boolean) | undefined;
}>;

export type ProbeResult = Readonly<{
  /** The path that succeeded. */
  path?: HealthPath | undefined;
  outcome: Omit<Healthy, "credentialsExpireMs"> | Omit<Failed, "credentialsExpireMs">;
}>;

/**
 * Probes a cluster. The health check and the identity of a healthy cluster cost one request each; the detection of version,
 * served APIs, nodes and storage costs six more. Failures of the cluster are returned; only the caller's signal makes it throw.
 */
export async function probe(client: KubeClient, options: ProbeOptions): Promise<ProbeResult> {
  const health = await checkHealth(client, options);
  if (health.kind === "failed") return { outcome: health };
  const { path, version } = health;
  const isNew = version !== undefined && version !== options.version;
  const identity = await identify(client, options);
  if (identity.kind === "failed") return { outcome: identity };
  if (!options.detect && !isNew) return { path, outcome: { kind: "healthy", identity } };
  try {
    return { path, outcome: { kind: "healthy", identity, detected: await detect(client, options, version) } };
  } catch (error) {
    // Limits are far above what a cluster needs, and another request would cost as much again.
    if (isLimitExceeded(error)) return { path, outcome: unhealthy(messageOf(error)) };
    throw error;
  }
}

/** A cluster that does not say which one it is has not answered the probe. */
async function identify(client: KubeClient, { signal, timeoutMs }: ProbeOptions): Promise<ClusterIdentity | Failed> {
  try {
    return await readIdentity(client, { signal, timeoutMs });
  } catch (error) {
    return failureOfError(error, signal);
  }
}

type Succeeded = Readonly<{ kind: "succeeded"; path: HealthPath; version?: string | undefined }>;

async function checkHealth(client: KubeClient, options: ProbeOptions): Promise<Succeeded | Failed> {
  const { signal, clock, timeoutMs } = options;
  const endsMs = clock.monotonicMs() + timeoutMs;
  const known = options.path ?? "/readyz";
  let status = 0;
  for (const path of [known, ...healthPaths.filter((each) => each !== known)]) {
    try {
      const response = await client.raw("GET", path, {
        signal,
        timeoutMs: Math.max(1, endsMs - clock.monotonicMs()),
        accept: "*/*",
      });
      if (response.status === 200) {
        const version = path === "/version" ? versionOf(response.text) : undefined;
        // A web server may return a page for any path; only an API server returns a version.
        if (path === "/version" && version === undefined)
          return unhealthy(`${path} did not return a Kubernetes version`);
        return { kind: "succeeded", path, version };
      }
      status = response.status;
      if (status !== 403 && status !== 404) return failureOfResponse(path, response);
    } catch (error) {
      return failureOfError(error, signal);
    }
  }
  if (status === 404) return unhealthy(`the server has none of ${healthPaths.join(", ")}: not an API server`);
  return {
    kind: "failed",
    reason: "AccessDenied",
    message: `the credentials are not allowed to read any of ${healthPaths.join(", ")}`,
  };
}

const unhealthy = (message: string): Failed => ({ kind: "failed", reason: "ClusterUnhealthy", message });

function failureOfResponse(path: string, { status, text }: Readonly<{ status: number; text: string }>): Failed {
  if (status === 401) {
    return { kind: "failed", reason: "CredentialsRejected", message: "the cluster rejects the credentials" };
  }
  if (status >= 300 && status <= 399) return unhealthy(`${path} returned ${status}: redirects are not followed`);
  if (status === 429) return unhealthy(`${path} returned 429: the cluster is overloaded`);
  const checks = failedChecks(text);
  return unhealthy(`${path} returned ${status}${checks.length === 0 ? "" : `: ${checks.join(", ")} failed`}`);
}

/** The names of the failed checks. The rest of the response is omitted: it is long and differs between requests. */
function failedChecks(text: string): string[] {
  const names = text
    .slice(0, 16_384)
    .split("\n")
    .map((line) => /^\[-\]([A-Za-z0-9][\w./-]{0,62}) failed/.exec(line)?.[1])
    .filter((name) => name !== undefined);
  const shown = names.toSorted().slice(0, 5);
  return names.length > shown.length ? [...shown, "others"] : shown;
}

function failureOfError(error: unknown, signal: AbortSignal): Failed {
  signal.throwIfAborted();
  if (faultOf(error) === "unauthorized") {
    return { kind: "failed", reason: "CredentialsRejected", message: messageOf(error) };
  }
  // A "forbidden" that is not an API error comes from the endpoint check before the connection.
  if (error instanceof ControllerError && error.fault === "forbidden" && !(error instanceof ApiError)) {
    return { kind: "failed", reason: "EndpointNotAllowed", message: error.message };
  }
  return unhealthy(messageOf(error));
}

/** Messages of our own errors are one line, stable and free of secrets; those of other errors may not be. */
function messageOf(error: unknown): string {
  return error instanceof ControllerError ? error.message : "the request to the cluster failed";
}

async function detect(client: KubeClient, options: ProbeOptions, version: string | undefined): Promise<Detected> {
  const { clock, timeoutMs } = options;
  const endsMs = clock.monotonicMs() + timeoutMs;
  const deadline = createDeadline(clock, { signal: options.signal, timeoutMs });
  const call: DetectionCall = { signal: deadline.signal, timeoutMs: () => Math.max(1, endsMs - clock.monotonicMs()) };
  /** A part that fails is undefined and keeps its old value in the status: the cluster is healthy all the same. */
  const part = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      options.signal.throwIfAborted();
      if (isLimitExceeded(error)) throw error;
      return undefined;
    }
  };
  try {
    const [detectedVersion, apis, nodes, storage, otherPods] = await Promise.all([
      version ?? part(() => readVersion(client, call)),
      part(() => readServedApis(client, call)),
      part(() => readNodes(client, call)),
      part(() => readStorage(client, call)),
      part(() => readOtherPods(client, call, options.isOwnNamespace ?? (() => false))),
    ]);
    return { version: detectedVersion, apis, nodes, storage, otherPods };
  } finally {
    deadline.end();
  }
}

async function readVersion(client: KubeClient, { signal, timeoutMs }: DetectionCall): Promise<string | undefined> {
  const { status, text } = await client.raw("GET", "/version", { signal, timeoutMs: timeoutMs() });
  return status === 200 ? versionOf(text) : undefined;
}

function versionOf(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null || !("gitVersion" in body)) return undefined;
    const { gitVersion } = body;
    return typeof gitVersion === "string" && /^v?\d[\w.+-]{0,61}$/.test(gitVersion) ? gitVersion : undefined;
  } catch {
    return undefined;
  }
}

const nodeType: ResourceType = { group: "", version: "v1", plural: "nodes" };
const storageClassType: ResourceType = { group: "storage.k8s.io", version: "v1", plural: "storageclasses" };

const isForbiddenOrMissing = (error: unknown): boolean => ["forbidden", "not-found"].includes(faultOf(error) ?? "");

async function readNodes(client: KubeClient, { signal, timeoutMs }: DetectionCall): Promise<NodeFacts | "forbidden"> {
  try {
    // resourceVersion 0 reads from the server's cache: large clusters have many nodes, and slightly stale data suffices.
    const { items } = await listByPages(
      client,
      { transform: projectNode },
      { type: nodeType },
      { signal, timeoutMs: timeoutMs(), resourceVersion: "0" },
    );
    return sumNodes(items);
  } catch (error) {
    if (isForbiddenOrMissing(error)) return "forbidden";
    throw error;
  }
}

/** Keeps of a node what `sumNodes` reads, because a node has some 15 KB and a cluster may have thousands of nodes. */
function projectNode({ apiVersion, kind, spec, status }: KubeObject): KubeObject {
  const { capacity, allocatable, conditions } = entryOf(status);
  const ready = Array.isArray(conditions) ? conditions.map(entryOf).filter(({ type }) => type === "Ready") : [];
  return {
    apiVersion,
    kind,
    metadata: {},
    spec: { unschedulable: entryOf(spec).unschedulable === true },
    status: {
      conditions: ready
        .map(({ type, status: state }) => ({ type, status: state === "True" ? "True" : "False" }))
        .slice(0, 1),
      capacity: validAmounts(capacity),
      allocatable: validAmounts(allocatable),
    },
  };
}

const validAmounts = (amounts: unknown): Entry =>
  Object.fromEntries(Object.entries(entryOf(amounts)).filter(([, amount]) => isQuantity(amount)));

/** Whether there is a storage class. If TMC may not list them, storage is assumed, since the type is served. */
async function readStorage(client: KubeClient, { signal, timeoutMs }: DetectionCall): Promise<boolean> {
  try {
    const { items } = await client.metadata.list(
      { type: storageClassType },
      { signal, timeoutMs: timeoutMs(), limit: 1 },
    );
    return items.length > 0;
  } catch (error) {
    if (isForbiddenOrMissing(error)) return faultOf(error) === "forbidden";
    throw error;
  }
}

const podType: ResourceType = { group: "", version: "v1", plural: "pods" };
/** Pods that are bound to a node and have not ended: what the scheduler counts. */
const runningPods = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
/** Some 7 KB each: a page has a few megabytes, and the whole list tens of megabytes every ten minutes. */
const podsPerPage = 500;
const maxPods = 5_000;

/** Sums up the requests of the pods that TMC did not place. Reads page by page and keeps only the sum. */
async function readOtherPods(
  client: KubeClient,
  { signal, timeoutMs }: DetectionCall,
  isOwnNamespace: (name: string) => boolean,
): Promise<OtherPods> {
  let requests = nothingReserved;
  let pods = 0;
  let token: string | undefined;
  try {
    do {
      const page = await client.list<KubeObject>(
        { type: podType },
        { fieldSelector: runningPods, limit: podsPerPage, continue: token, signal, timeoutMs: timeoutMs() },
      );
      token = page.metadata.continue || undefined;
      pods += page.items.length;
      if (pods > maxPods || (pods === maxPods && token !== undefined)) return { kind: "unknown", reason: "TooMany" };
      for (const pod of page.items) {
        if (!isOwnNamespace(String(pod.metadata.namespace ?? ""))) {
          requests = addResources(requests, requestsOfPod(pod));
        }
      }
    } while (token !== undefined);
    return { kind: "known", requests };
  } catch (error) {
    if (isForbiddenOrMissing(error)) return { kind: "unknown", reason: "Forbidden" };
    if (isLimitExceeded(error)) return { kind: "unknown", reason: "TooMany" };
    throw error;
  }
}

type Entry = Readonly<Record<string, unknown>>;

/**
 * Sums up the nodes of a cluster. Capacity counts all nodes; allocatable counts only nodes that are ready and schedulable,
 * which is what new workloads can use.
 */
export function sumNodes(nodes: readonly KubeObject[]): NodeFacts {
  const ready = nodes.filter(isReady);
  const schedulable = ready.filter(({ spec }) => entryOf(spec).unschedulable !== true);
  return {
    nodes: { ready: ready.length, total: nodes.length },
    capacity: sumResources(nodes, "capacity"),
    allocatable: sumResources(schedulable, "allocatable"),
    gpu: schedulable.some((node) => Object.entries(amountsOf(node, "allocatable")).some(isGpu)),
  };
}

/** `nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915` …: device plugins have no common resource name. */
function isGpu([resource, amount]: readonly [string, unknown]): boolean {
  const [vendor = "", name = ""] = resource.split("/");
  if (name !== "gpu" && !name.startsWith("gpu-") && !vendor.startsWith("gpu.")) return false;
  return isQuantity(amount) && parseQuantity(amount).nanos > 0n;
}

function sumResources(nodes: readonly KubeObject[], field: "capacity" | "allocatable"): ResourceTotals {
  const all = nodes.flatMap((node) => Object.entries(amountsOf(node, field)));
  const sum = (isIncluded: (entry: readonly [string, unknown]) => boolean): string | undefined => {
    const amounts = all.filter(isIncluded).map(([, amount]) => amount);
    const quantities = amounts.filter(isQuantity).map(parseQuantity);
    if (quantities.length === 0) return undefined;
    return formatQuantity(quantities.reduce((total, each) => addQuantities(total, each), zeroQuantity));
  };
  const sumNamed = (name: string) => sum(([resource]) => resource === name);
  const none = formatQuantity(zeroQuantity);
  const storage = sumNamed("ephemeral-storage");
  const gpu = sum(isGpu);
  return {
    cpu: sumNamed("cpu") ?? none,
    memory: sumNamed("memory") ?? none,
    pods: sumNamed("pods") ?? none,
    ...(storage !== undefined && { storage }),
    ...(gpu !== undefined && { gpu }),
  };
}

function isReady({ status }: KubeObject): boolean {
  const { conditions } = entryOf(status);
  if (!Array.isArray(conditions)) return false;
  return conditions.map(entryOf).some(({ type, status: state }) => type === "Ready" && state === "True");
}

const amountsOf = (node: KubeObject, field: string): Entry => entryOf(entryOf(node.status)[field]);

function entryOf(value: unknown): Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
