import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTimestampAge } from "../../definitions/table.ts";
import { type MutableFields, numberOrZeroAt, recordsAt } from "../../machinery/fields.ts";
import { age, type Cells, none, orNone } from "./cells.ts";

type PodSummary = Readonly<{ ready: number; total: number; reason: string; restarts: number; lastRestart: string }>;

export const podCells: Cells = {
  Ready: (pod) => {
    const { ready, total } = summarize(pod);
    return `${ready}/${total}`;
  },
  Status: (pod) => summarize(pod).reason,
  Restarts: (pod, now) => {
    const { restarts, lastRestart } = summarize(pod);
    return restarts === 0 || lastRestart === ""
      ? String(restarts)
      : `${restarts} (${formatTimestampAge(lastRestart, now)} ago)`;
  },
  Age: age,
  IP: (pod) => orNone(textAt(recordsAt(pod, "status", "podIPs")[0], "ip") || textAt(pod, "status", "podIP")),
  Node: (pod) => orNone(textAt(pod, "spec", "nodeName")),
  "Nominated Node": (pod) => orNone(textAt(pod, "status", "nominatedNodeName")),
  "Readiness Gates": (pod) => {
    const gates = recordsAt(pod, "spec", "readinessGates");
    if (gates.length === 0) return none;
    const met = gates.filter((gate) => conditionStatus(pod, textAt(gate, "conditionType")) === "True");
    return `${met.length}/${gates.length}`;
  },
};

function summarize(pod: KubeObject): PodSummary {
  const phase = textAt(pod, "status", "phase");
  let reason = textAt(pod, "status", "reason") || phase;
  const gated = recordsAt(pod, "status", "conditions").some(
    (condition) => condition.type === "PodScheduled" && condition.reason === "SchedulingGated",
  );
  if (gated) reason = "SchedulingGated";

  const sidecars = new Set(
    recordsAt(pod, "spec", "initContainers")
      .filter((container) => container.restartPolicy === "Always")
      .map((container) => textAt(container, "name")),
  );
  const init = summarizeInit(pod, sidecars);
  const total = recordsAt(pod, "spec", "containers").length + sidecars.size;
  let { ready, restarts, lastRestart } = init;
  if (init.reason !== undefined) reason = init.reason;

  if (init.reason === undefined || conditionStatus(pod, "Initialized") === "True") {
    restarts = init.sidecarRestarts;
    lastRestart = init.sidecarLastRestart;
    let hasRunning = false;
    for (const status of recordsAt(pod, "status", "containerStatuses").toReversed()) {
      restarts += numberOrZeroAt(status, "restartCount");
      lastRestart = later(lastRestart, textAt(status, "lastState", "terminated", "finishedAt"));
      const waiting = textAt(status, "state", "waiting", "reason");
      const terminated = valueAt(status, "state", "terminated");
      if (waiting !== "") reason = waiting;
      else if (isRecord(terminated)) reason = textAt(terminated, "reason") || exitReason(terminated);
      else if (status.ready === true && isRecord(valueAt(status, "state", "running"))) {
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
  const total = recordsAt(pod, "spec", "initContainers").length;
  for (const [index, status] of recordsAt(pod, "status", "initContainerStatuses").entries()) {
    const isSidecar = sidecars.has(textAt(status, "name"));
    const finishedAt = textAt(status, "lastState", "terminated", "finishedAt");
    summary.restarts += numberOrZeroAt(status, "restartCount");
    summary.lastRestart = later(summary.lastRestart, finishedAt);
    if (isSidecar) {
      summary.sidecarRestarts += numberOrZeroAt(status, "restartCount");
      summary.sidecarLastRestart = later(summary.sidecarLastRestart, finishedAt);
    }
    const terminated = valueAt(status, "state", "terminated");
    if (isRecord(terminated) && numberOrZeroAt(terminated, "exitCode") === 0) continue;
    if (isSidecar && status.started === true) {
      if (status.ready === true) summary.ready += 1;
      continue;
    }
    const waiting = textAt(status, "state", "waiting", "reason");
    if (isRecord(terminated)) summary.reason = `Init:${textAt(terminated, "reason") || exitReason(terminated)}`;
    else if (waiting !== "" && waiting !== "PodInitializing") summary.reason = `Init:${waiting}`;
    else summary.reason = `Init:${index}/${total}`;
    break;
  }
  return summary;
}

function exitReason(terminated: MutableFields): string {
  const signal = numberOrZeroAt(terminated, "signal");
  return signal === 0 ? `ExitCode:${numberOrZeroAt(terminated, "exitCode")}` : `Signal:${signal}`;
}

function conditionStatus(pod: KubeObject, type: string): string {
  return textAt(
    recordsAt(pod, "status", "conditions").find((condition) => condition.type === type),
    "status",
  );
}

function later(a: string, b: string): string {
  return b > a ? b : a;
}
