import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";

/** Something that happened and that a person may want to read. */
export type News = Readonly<{ atMs: number; tone: "good" | "bad" | "plain"; subject: string; text: string }>;
type Told = Omit<News, "atMs">;

/** What there is to tell about a cluster that was one way and is now another; undefined when nothing is. */
export function clusterNews(
  name: string,
  before: ClusterRegistration | undefined,
  after: ClusterRegistration | undefined,
): Told | undefined {
  const told = (tone: Told["tone"], text: string): Told => ({ tone, subject: name, text });
  if (after === undefined) return told("plain", "unregistered");
  const [was, is] = [before, after].map((each) => findCondition(each?.status?.conditions, "Ready"));
  if (is !== undefined && (was?.status !== is.status || was.reason !== is.reason)) {
    return is.status === "True"
      ? told("good", readyWords(after))
      : told("bad", `not Ready: ${is.reason}: ${is.message}`);
  }
  if (before === undefined) return told("plain", `registered at ${after.spec.location}`);
  const isDeleting = after.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined;
  if (isDeleting) return told("plain", "is being unregistered");
  const [hadTaints, hasTaints] = [before, after].map(taintWords);
  if (hadTaints !== hasTaints) {
    return hasTaints === "" ? told("good", "has no more taints") : told("bad", `is tainted ${hasTaints}`);
  }
  if (before.spec.unschedulable !== after.spec.unschedulable) {
    return after.spec.unschedulable === true ? told("bad", "takes no new work") : told("good", "takes new work");
  }
  return undefined;
}

/** What there is to tell about a placement that was one way and is now another; undefined when nothing is. */
export function placementNews(
  name: string,
  before: WorkloadPlacement | undefined,
  after: WorkloadPlacement | undefined,
): Told | undefined {
  const told = (tone: Told["tone"], text: string): Told => ({ tone, subject: name, text });
  if (after === undefined) return told("plain", "deleted");
  const [was, is] = [before, after].map((each) => findCondition(each?.status?.conditions, "Ready"));
  if (is === undefined) return undefined; // it is told once it is decided
  const [had, has] = [before, after].map((each) => (each?.status?.selectedClusters ?? []).join(", "));
  if (was?.status === is.status && was.message === is.message && had === has) return undefined;
  const moved = had !== "" && had !== has && has !== "" ? `moved from ${had}: ` : "";
  return told(is.status === "True" ? "good" : "bad", `${moved}${is.message}`);
}

/** What there is to tell about a workload by the record that is kept of it; undefined when nothing is. */
export function workloadNews(before: WorkloadSync | undefined, after: WorkloadSync | undefined): Told | undefined {
  const { namespace = "" } = (after ?? before)?.metadata ?? {};
  const { kind = "", name = "" } = (after ?? before)?.spec.workload ?? {};
  const told = (tone: Told["tone"], text: string): Told => ({
    tone,
    subject: `${namespace}/${name}`,
    text: `${kind} ${text}`,
  });
  if (after === undefined) return told("plain", "has gone from all clusters");
  const [was, is] = [before, after].map((each) => findCondition(each?.status?.conditions, "Ready"));
  if (is === undefined || (was?.status === is.status && was.message === is.message)) return undefined;
  const isBad = (after.status?.clusters ?? []).some(({ state }) => state === "Failed" || state === "Held");
  return told(is.status === "True" ? "good" : isBad ? "bad" : "plain", is.message);
}

function readyWords({ status }: ClusterRegistration): string {
  const { kubernetesVersion, nodes } = status ?? {};
  const facts = [
    ...(kubernetesVersion === undefined ? [] : [kubernetesVersion]),
    ...(nodes === undefined ? [] : [`${nodes.ready} of ${nodes.total} nodes`]),
  ];
  return facts.length === 0 ? "Ready" : `Ready: ${facts.join(", ")}`;
}

function taintWords(registration: ClusterRegistration | undefined): string {
  return (registration?.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).join(", ");
}
