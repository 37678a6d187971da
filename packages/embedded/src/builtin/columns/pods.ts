import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Fields, isFields, numberAt, objectsAt, textAt, valueAt } from "../../fields.ts";
import { formatAge } from "../../table.ts";
import { age, type Cells, none, orNone } from "./cells.ts";

type PodSummary = Readonly<{ ready: number; total: number; reason: string; restarts: number; lastRestart: string }>;

/** Pods: the one table whose status is put together from many places. */
export const podCells: Cells = {
  Ready: (pod) => {
    const { ready, total } = summarize(pod);
    return `${ready}/${total}`;
  },
  Status: (pod) => summarize(pod).reason,
  Restarts: (pod, now) => {
    const { restarts, lastRestart } = summarize(pod);
    return restarts === 0 || lastRestart === "" ? String(restarts) : `${restarts} (${formatAge(lastRestart, now)} ago)`;
  },
  Age: age,
  IP: (pod) => orNone(textAt(objectsAt(pod, "status", "podIPs")[0], "ip") || textAt(pod, "status", "podIP")),
  Node: (pod) => orNone(textAt(pod, "spec", "nodeName")),
  "Nominated Node": (pod) => orNone(textAt(pod, "status", "nominatedNodeName")),
  "Readiness Gates": (pod) => {
    const gates = objectsAt(pod, "spec", "readinessGates");
    if (gates.length === 0) return none;
    const met = gates.filter((gate) => conditionStatus(pod, textAt(gate, "conditionType")) === "True");
    return `${met.length}/${gates.length}`;
  },
};

function summarize(pod: KubeObject): PodSummary {
  const phase = textAt(pod, "status", "phase");
  let reason = textAt(pod, "status", "reason") || phase;
  const gated = objectsAt(pod, "status", "conditions").some(
    (condition) => condition.type === "PodScheduled" && condition.reason === "SchedulingGated",
  );
  if (gated) reason = "SchedulingGated";

  const sidecars = new Set(
    objectsAt(pod, "spec", "initContainers")
      .filter((container) => container.restartPolicy === "Always")
      .map((container) => textAt(container, "name")),
  );
  const init = summarizeInit(pod, sidecars);
  const total = objectsAt(pod, "spec", "containers").length + sidecars.size;
  let { ready, restarts, lastRestart } = init;
  if (init.reason !== undefined) reason = init.reason;

  if (init.reason === undefined || conditionStatus(pod, "Initialized") === "True") {
    restarts = init.sidecarRestarts;
    lastRestart = init.sidecarLastRestart;
    let hasRunning = false;
    for (const status of objectsAt(pod, "status", "containerStatuses").toReversed()) {
      restarts += numberAt(status, "restartCount");
      lastRestart = later(lastRestart, textAt(status, "lastState", "terminated", "finishedAt"));
      const waiting = textAt(status, "state", "waiting", "reason");
      const terminated = valueAt(status, "state", "terminated");
      if (waiting !== "") reason = waiting;
      else if (isFields(terminated)) reason = textAt(terminated, "reason") || exitReason(terminated);
      else if (status.ready === true && isFields(valueAt(status, "state", "running"))) {
        hasRunning = true;
        ready += 1;
      }
    }
    if (reason === "Completed" && hasRunning) {
      reason = conditionStatus(pod, "Ready") === "True" ? "Running" : "NotReady";
    }
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (textAt(pod, "status", "reason") === "NodeLost") reason = "Unknown";
    else if (phase !== "Succeeded" && phase !== "Failed") reason = "Terminating";
  }
  return { ready, total, reason, restarts, lastRestart };
}

type InitSummary = {
  reason: string | undefined;
  ready: number;
  restarts: number;
  lastRestart: string;
  sidecarRestarts: number;
  sidecarLastRestart: string;
};

function summarizeInit(pod: KubeObject, sidecars: ReadonlySet<string>): InitSummary {
  const summary: InitSummary = {
    reason: undefined,
    ready: 0,
    restarts: 0,
    lastRestart: "",
    sidecarRestarts: 0,
    sidecarLastRestart: "",
  };
  const total = objectsAt(pod, "spec", "initContainers").length;
  for (const [index, status] of objectsAt(pod, "status", "initContainerStatuses").entries()) {
    const isSidecar = sidecars.has(textAt(status, "name"));
    const finishedAt = textAt(status, "lastState", "terminated", "finishedAt");
    summary.restarts += numberAt(status, "restartCount");
    summary.lastRestart = later(summary.lastRestart, finishedAt);
    if (isSidecar) {
      summary.sidecarRestarts += numberAt(status, "restartCount");
      summary.sidecarLastRestart = later(summary.sidecarLastRestart, finishedAt);
    }
    const terminated = valueAt(status, "state", "terminated");
    if (isFields(terminated) && numberAt(terminated, "exitCode") === 0) continue;
    if (isSidecar && status.started === true) {
      if (status.ready === true) summary.ready += 1;
      continue;
    }
    const waiting = textAt(status, "state", "waiting", "reason");
    if (isFields(terminated)) summary.reason = `Init:${textAt(terminated, "reason") || exitReason(terminated)}`;
    else if (waiting !== "" && waiting !== "PodInitializing") summary.reason = `Init:${waiting}`;
    else summary.reason = `Init:${index}/${total}`;
    break;
  }
  return summary;
}

function exitReason(terminated: Fields): string {
  const signal = numberAt(terminated, "signal");
  return signal === 0 ? `ExitCode:${numberAt(terminated, "exitCode")}` : `Signal:${signal}`;
}

function conditionStatus(pod: KubeObject, type: string): string {
  return textAt(
    objectsAt(pod, "status", "conditions").find((condition) => condition.type === type),
    "status",
  );
}

function later(a: string, b: string): string {
  return b > a ? b : a;
}
