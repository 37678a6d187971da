import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { addQuantities, formatQuantity, isQuantity, parseQuantity, zeroQuantity } from "@tmc/kube/quantity.ts";
import type { Amounts, Detected, Failed, Healthy, NodeFacts } from "./probe-outcome.ts";
import { type Call, findServedApis } from "./served-apis.ts";

/** Where a cluster says how it is: the best first; a cluster that refuses one may still answer the next. */
const healthPaths = ["/readyz", "/livez", "/version"] as const;
/** A path on which a cluster says how it is. */
export type HealthPath = (typeof healthPaths)[number];

export type ProbeOptions = Readonly<{
  /** For the question how it is; what it is may take as long again. */
  timeoutMs: number;
  signal: AbortSignal;
  clock: Clock;
  /** Whether to look at what the cluster is, too. A probe that finds another version does so in any case. */
  detect: boolean;
  /** The path that answered last time, so that a cluster that refuses others still costs one request. */
  path?: HealthPath | undefined;
  /** The version that is known. */
  version?: string | undefined;
}>;

export type ProbeResult = Readonly<{
  /** What the cluster answered on. */
  path?: HealthPath | undefined;
  outcome: Omit<Healthy, "credentialsExpireMs"> | Omit<Failed, "credentialsExpireMs">;
}>;

/**
 * Asks a cluster how it is. A healthy one costs one request; what it is (version, served APIs, nodes, storage) five more.
 * Nothing that the cluster says or does makes this throw; only the caller's own signal does.
 */
export async function probe(client: KubeClient, options: ProbeOptions): Promise<ProbeResult> {
  const health = await askHealth(client, options);
  if (health.kind === "failed") return { outcome: health };
  const { path, version } = health;
  const isNew = version !== undefined && version !== options.version;
  if (!options.detect && !isNew) return { path, outcome: { kind: "healthy" } };
  return { path, outcome: { kind: "healthy", detected: await detect(client, options, version) } };
}

type Answered = Readonly<{ kind: "answered"; path: HealthPath; version?: string | undefined }>;

async function askHealth(client: KubeClient, options: ProbeOptions): Promise<Answered | Failed> {
  const { signal, clock, timeoutMs } = options;
  const endsMs = clock.now() + timeoutMs;
  const known = options.path ?? "/readyz";
  let status = 0;
  for (const path of [known, ...healthPaths.filter((each) => each !== known)]) {
    try {
      const answer = await client.raw("GET", path, {
        signal,
        timeoutMs: Math.max(1, endsMs - clock.now()),
        accept: "*/*",
      });
      if (answer.status === 200) {
        const version = path === "/version" ? versionOf(answer.text) : undefined;
        // Any web server has a page for any path; an API server says its version.
        if (path === "/version" && version === undefined) return unhealthy(`${path} is not an API server's answer`);
        return { kind: "answered", path, version };
      }
      status = answer.status;
      if (status !== 403 && status !== 404) return failureOf(path, answer);
    } catch (error) {
      return failureOfError(error, signal);
    }
  }
  if (status === 404) return unhealthy("none of its health paths is served: not an API server");
  return {
    kind: "failed",
    reason: "AccessDenied",
    message: `the cluster lets the credentials ask neither ${healthPaths.join(" nor ")}`,
  };
}

const unhealthy = (message: string): Failed => ({ kind: "failed", reason: "ClusterUnhealthy", message });

function failureOf(path: string, { status, text }: Readonly<{ status: number; text: string }>): Failed {
  if (status === 401) {
    return { kind: "failed", reason: "CredentialsRejected", message: "the cluster refuses the credentials" };
  }
  if (status >= 300 && status <= 399) return unhealthy(`${path} answers ${status}: redirects are not followed`);
  if (status === 429) return unhealthy(`${path} answers 429: the cluster has too much to do`);
  const checks = failedChecks(text);
  return unhealthy(`${path} answers ${status}${checks.length === 0 ? "" : `: ${checks.join(", ")} failed`}`);
}

/** The checks that an API server says have failed; of all its words these alone are short and the same each time. */
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
  // No server has said so: it was the check of where we connect to.
  if (error instanceof ControllerError && error.fault === "forbidden" && !(error instanceof ApiError)) {
    return { kind: "failed", reason: "EndpointNotAllowed", message: error.message };
  }
  return unhealthy(messageOf(error));
}

/** The words of our own errors are one line, without secrets and the same each time; others' need not be. */
function messageOf(error: unknown): string {
  return error instanceof ControllerError ? error.message : "the cluster cannot be asked";
}

async function detect(client: KubeClient, options: ProbeOptions, version: string | undefined): Promise<Detected> {
  const { clock, timeoutMs } = options;
  const endsMs = clock.now() + timeoutMs;
  const deadline = createDeadline(clock, { signal: options.signal, timeoutMs });
  const call: Call = { signal: deadline.signal, timeoutMs: () => Math.max(1, endsMs - clock.now()) };
  /** A part that fails leaves what was known: the cluster is healthy, and says the rest another time. */
  const part = async <T>(find: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await find();
    } catch {
      options.signal.throwIfAborted();
      return undefined;
    }
  };
  try {
    const [found, apis, nodes, storage] = await Promise.all([
      version ?? part(() => findVersion(client, call)),
      part(() => findServedApis(client, call)),
      part(() => findNodes(client, call)),
      part(() => findStorage(client, call)),
    ]);
    return { version: found, apis, nodes, storage };
  } finally {
    deadline.end();
  }
}

async function findVersion(client: KubeClient, { signal, timeoutMs }: Call): Promise<string | undefined> {
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

const isRefused = (error: unknown): boolean => ["forbidden", "not-found"].includes(faultOf(error) ?? "");

async function findNodes(client: KubeClient, { signal, timeoutMs }: Call): Promise<NodeFacts | "refused"> {
  try {
    // From the server's cache: a big cluster's nodes are many, and nobody needs them to the second.
    const { items } = await client.listAll(
      { type: nodeType },
      { signal, timeoutMs: timeoutMs(), resourceVersion: "0" },
    );
    return sumNodes(items);
  } catch (error) {
    if (isRefused(error)) return "refused";
    throw error;
  }
}

/** A volume can be had where there is a storage class; where we may not look, being served has to do. */
async function findStorage(client: KubeClient, { signal, timeoutMs }: Call): Promise<boolean> {
  try {
    const { items } = await client.metadata.list(
      { type: storageClassType },
      { signal, timeoutMs: timeoutMs(), limit: 1 },
    );
    return items.length > 0;
  } catch (error) {
    if (isRefused(error)) return faultOf(error) === "forbidden";
    throw error;
  }
}

type Entry = Readonly<Record<string, unknown>>;

/**
 * Adds up the nodes of a cluster. Capacity counts all of them; allocatable only those that are ready and take pods, for
 * that is what new work can have.
 */
export function sumNodes(nodes: readonly KubeObject[]): NodeFacts {
  const ready = nodes.filter(isReady);
  const open = ready.filter(({ spec }) => entryOf(spec).unschedulable !== true);
  return {
    nodes: { ready: ready.length, total: nodes.length },
    capacity: sumOf(nodes, "capacity"),
    allocatable: sumOf(open, "allocatable"),
    gpu: open.some((node) => Object.entries(amountsOf(node, "allocatable")).some(isSomeGpu)),
  };
}

/** `nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915` …: device plugins have no common name for them. */
function isSomeGpu([resource, amount]: readonly [string, unknown]): boolean {
  const [vendor = "", name = ""] = resource.split("/");
  if (name !== "gpu" && !name.startsWith("gpu-") && !vendor.startsWith("gpu.")) return false;
  return isQuantity(amount) && parseQuantity(amount).nanos > 0n;
}

function sumOf(nodes: readonly KubeObject[], field: "capacity" | "allocatable"): Amounts {
  const all = nodes.flatMap((node) => Object.entries(amountsOf(node, field)));
  const sum = (isWanted: (entry: readonly [string, unknown]) => boolean): string | undefined => {
    const amounts = all.filter(isWanted).map(([, amount]) => amount);
    const quantities = amounts.filter(isQuantity).map(parseQuantity);
    if (quantities.length === 0) return undefined;
    return formatQuantity(quantities.reduce((total, each) => addQuantities(total, each), zeroQuantity));
  };
  const sumNamed = (name: string) => sum(([resource]) => resource === name);
  const none = formatQuantity(zeroQuantity);
  const storage = sumNamed("ephemeral-storage");
  const gpu = sum(isSomeGpu);
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
