import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { objectsAt, textAt } from "../fields.ts";

/** What a pod of the embedded cluster has written: one line for each container that was started. */
export function podLog(pod: KubeObject): string {
  const started = objectsAt(pod, "status", "containerStatuses").filter(
    (status) =>
      textAt(status, "state", "running", "startedAt") !== "" ||
      textAt(status, "state", "terminated", "finishedAt") !== "",
  );
  return started
    .map(
      (status) =>
        `${textAt(status, "image")}: container ${textAt(status, "name")} of pod ${pod.metadata.name ?? ""} started\n`,
    )
    .join("");
}
