import type { KubeObject } from "../../model/kube-object.ts";
import { objects, text } from "../builtin/fields.ts";

/** What a pod of the embedded cluster has written: one line for each container that was started. */
export function podLog(pod: KubeObject): string {
  const started = objects(pod, "status", "containerStatuses").filter(
    (status) =>
      text(status, "state", "running", "startedAt") !== "" || text(status, "state", "terminated", "finishedAt") !== "",
  );
  return started
    .map(
      (status) =>
        `${text(status, "image")}: container ${text(status, "name")} of pod ${pod.metadata.name ?? ""} started\n`,
    )
    .join("");
}
