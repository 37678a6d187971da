import { conditionOfType } from "../conditions.ts";
import type { Container, ContainerState, ContainerStatus, ObjectCondition, Pod, PodStatus } from "../kinds.ts";
import { formatTime } from "../kinds.ts";
import type { EventContent } from "../world.ts";

/** What happens to a pod's containers after they start. */
export type PodOutcome = "runs" | "completes" | "fails" | "image-missing" | "crashes";

export type PodFacts = Readonly<{
  pod: Pod;
  outcome: PodOutcome;
  /** Milliseconds since the pod was bound to its node. */
  ageMs: number;
  /** How long containers take to start, and how long those of a job run. */
  readyMs: number;
  runMs: number;
  podIP: string;
  hostIP: string;
  now: number;
}>;
export type PodStep = Readonly<{ status: PodStatus; events: readonly EventContent[]; nextMs: number | undefined }>;

/** Decides the status that the kubelet reports for a pod. */
export function decidePod(facts: PodFacts): PodStep {
  const { pod, outcome, ageMs, readyMs, runMs } = facts;
  const started =
    pod.status?.containerStatuses?.some(
      ({ state, lastState }) => state.running !== undefined || lastState.terminated !== undefined,
    ) === true;
  if (outcome === "image-missing" && !started) return waiting(facts, "image");
  if (ageMs < readyMs && !started) return { ...waiting(facts, "creating"), nextMs: readyMs - ageMs };
  if (outcome === "crashes" || outcome === "image-missing") return crashing(facts);
  if (outcome === "completes" || outcome === "fails") {
    const remainingMs = readyMs + runMs - ageMs;
    return remainingMs > 0 ? { ...running(facts), nextMs: remainingMs } : finished(facts, outcome === "completes");
  }
  return running(facts);
}

const kubeletEvent = (type: EventContent["type"], reason: string, message: string): EventContent => ({
  type,
  reason,
  message,
  source: "kubelet",
});

function waiting(facts: PodFacts, why: "creating" | "image"): PodStep {
  const { pod } = facts;
  const state = (container: Container): ContainerState =>
    why === "creating"
      ? { waiting: { reason: "ContainerCreating" } }
      : {
          waiting: {
            reason: "ErrImagePull",
            message: `failed to pull and unpack image "${container.image ?? ""}": not found`,
          },
        };
  const status = report(facts, "Pending", false, (container) => containerStatus(container, state(container)));
  const isFirstReport = pod.status?.containerStatuses?.[0]?.state.waiting?.reason !== "ErrImagePull";
  const events =
    why === "image" && isFirstReport
      ? pod.spec.containers.flatMap((container) => [
          kubeletEvent("Normal", "Pulling", `Pulling image "${container.image ?? ""}"`),
          kubeletEvent("Warning", "Failed", `Failed to pull image "${container.image ?? ""}": not found`),
          kubeletEvent("Warning", "Failed", "Error: ErrImagePull"),
        ])
      : [];
  return { status, events, nextMs: undefined };
}

function running(facts: PodFacts): PodStep {
  const { pod, now } = facts;
  const before = (name: string): ContainerStatus | undefined =>
    pod.status?.containerStatuses?.find((status) => status.name === name);
  const status = report(facts, "Running", true, (container) => {
    const old = before(container.name);
    const state = old?.state.running === undefined ? { running: { startedAt: formatTime(now) } } : old.state;
    return { ...containerStatus(container, state, pod), ready: true, started: true, ...restartsOf(old) };
  });
  const events = pod.spec.containers
    .filter((container) => before(container.name)?.state.running === undefined)
    .flatMap((container) => [
      kubeletEvent(
        "Normal",
        "Pulled",
        `Container image "${container.image ?? ""}" already present on machine and can be accessed by the pod`,
      ),
      kubeletEvent("Normal", "Created", "Container created"),
      kubeletEvent("Normal", "Started", "Container started"),
    ]);
  return { status, events, nextMs: undefined };
}

function crashing(facts: PodFacts): PodStep {
  const { pod, now } = facts;
  const status = report(facts, "Running", false, (container) => {
    const old = pod.status?.containerStatuses?.find((each) => each.name === container.name);
    const crashed = old?.state.waiting?.reason === "CrashLoopBackOff";
    if (crashed && old !== undefined) return old;
    const message = `back-off 5m0s restarting failed container=${container.name} pod=${pod.metadata.name}_${pod.metadata.namespace ?? ""}(${pod.metadata.uid})`;
    return {
      ...containerStatus(container, { waiting: { reason: "CrashLoopBackOff", message } }, pod),
      restartCount: (old?.restartCount ?? 0) + 1,
      lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt: formatTime(now) } },
    };
  });
  const isFirstReport = pod.status?.containerStatuses?.[0]?.state.waiting?.reason !== "CrashLoopBackOff";
  const events = isFirstReport
    ? pod.spec.containers.map((container) =>
        kubeletEvent(
          "Warning",
          "BackOff",
          `Back-off restarting failed container ${container.name} in pod ${pod.metadata.name}_${pod.metadata.namespace ?? ""}(${pod.metadata.uid})`,
        ),
      )
    : [];
  return { status, events, nextMs: undefined };
}

function finished(facts: PodFacts, succeeded: boolean): PodStep {
  const { pod, now } = facts;
  const status = report(facts, succeeded ? "Succeeded" : "Failed", false, (container) => {
    const old = pod.status?.containerStatuses?.find((each) => each.name === container.name);
    const startedAt = old?.state.running?.startedAt ?? formatTime(now);
    const terminated = {
      exitCode: succeeded ? 0 : 1,
      reason: succeeded ? "Completed" : "Error",
      startedAt,
      finishedAt: formatTime(now),
    };
    return { ...containerStatus(container, { terminated }, pod), started: false, ...restartsOf(old) };
  });
  return { status, events: [], nextMs: undefined };
}

const restartsOf = (old: ContainerStatus | undefined): Pick<ContainerStatus, "restartCount" | "lastState"> => ({
  restartCount: old?.restartCount ?? 0,
  lastState: old?.lastState ?? {},
});

function containerStatus(container: Container, state: ContainerState, pod?: Pod): ContainerStatus {
  return {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    ...(pod === undefined ? {} : { containerID: `embedded://${pod.metadata.uid}/${container.name}` }),
    ready: false,
    started: false,
    restartCount: 0,
    state,
    lastState: {},
  };
}

function report(
  { pod, podIP, hostIP, now }: PodFacts,
  phase: NonNullable<PodStatus["phase"]>,
  ready: boolean,
  containers: (container: Container) => ContainerStatus,
): PodStatus {
  const before = pod.status?.conditions;
  const unready = `containers with unready status: [${pod.spec.containers.map((container) => container.name).join(" ")}]`;
  const notReady =
    phase === "Succeeded"
      ? { reason: "PodCompleted" }
      : phase === "Failed"
        ? { reason: "PodFailed" }
        : { reason: "ContainersNotReady", message: unready };
  const condition = (
    type: string,
    holds: boolean,
    why: { reason?: string; message?: string } = {},
  ): ObjectCondition => {
    const status = holds ? "True" : "False";
    const old = conditionOfType(before, type);
    const since = old?.status === status ? old.lastTransitionTime : undefined;
    return {
      type,
      observedGeneration: pod.metadata.generation ?? 1,
      status,
      lastProbeTime: null,
      lastTransitionTime: since ?? formatTime(now),
      ...(holds ? {} : why),
    };
  };
  const hasSandbox = phase === "Running";
  const address = phase === "Pending" ? pod.status?.podIP : podIP;
  return {
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    phase,
    conditions: [
      condition("PodReadyToStartContainers", hasSandbox),
      condition("Initialized", true),
      condition("Ready", ready, notReady),
      condition("ContainersReady", ready, notReady),
      condition("PodScheduled", true),
    ],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(address === undefined ? {} : { podIP: address, podIPs: [{ ip: address }] }),
    startTime: pod.status?.startTime ?? formatTime(now),
    containerStatuses: pod.spec.containers.map(containers),
    qosClass: pod.status?.qosClass ?? qosClass(pod.spec.containers),
  };
}

/** The quality-of-service class that results from a pod's requests and limits. */
export function qosClass(containers: readonly Container[]): string {
  const names = ["cpu", "memory"];
  const amounts = containers.flatMap(({ resources }) => [
    ...Object.keys(resources?.requests ?? {}),
    ...Object.keys(resources?.limits ?? {}),
  ]);
  if (!amounts.some((name) => names.includes(name))) return "BestEffort";
  const guaranteed = containers.every(({ resources }) =>
    names.every((name) => {
      const limit = resources?.limits?.[name];
      return limit !== undefined && String(resources?.requests?.[name] ?? limit) === String(limit);
    }),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}
