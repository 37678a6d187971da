import { eventReasons } from "../../lib/engine/event-reasons.ts";
import { decisionReasons, readyReasons, reasonsByNearness } from "../../lib/placement/reasons.ts";
import { clusterReasons } from "../../lib/registration/reasons.ts";
import { upsyncReasons } from "../../lib/upsync/reasons.ts";

/** Every reason of conditions, decisions and Events, as Markdown. */
export function reasonsPage(): string {
  return placementSection() + clusterSection() + upsyncSection() + eventSection();
}

/** The closed lists of reasons as Markdown, for the reference pages. */
function placementSection(): string {
  const rows = reasonsByNearness.map((reason) => {
    const { selected, meaning, message } = decisionReasons[reason];
    return `| \`${reason}\` | ${selected ? "yes" : "no"} | ${meaning} | ${message} |`;
  });
  return [
    "# Why a cluster was chosen, or not",
    "",
    "<!-- Made from lib/placement/reasons.ts by `npm run generate`; change it there. -->",
    "",
    "Every entry of a placement's `status.decisions` has one of these reasons; there are no others.",
    "",
    "| Reason | Selected | Meaning | Message |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
    "And its condition `Ready` one of these:",
    "",
    "| Reason of Ready | Meaning |",
    "| --- | --- |",
    ...Object.entries(readyReasons).map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |`),
    "",
  ].join("\n");
}

/** The part of the reasons page that is about clusters. */
function clusterSection(): string {
  return [
    "",
    "## Why a cluster is Ready, or not",
    "",
    "The condition `Ready` of a ClusterRegistration has one of these reasons:",
    "",
    "| Reason of Ready | Meaning |",
    "| --- | --- |",
    ...Object.entries(clusterReasons).map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |`),
    "",
  ].join("\n");
}

/** The part of the reasons page that is about upsync. */
function upsyncSection(): string {
  return [
    "",
    "## What came of the objects that were born on a cluster",
    "",
    "The conditions `UpsyncReady`, `UpsyncConflict` and `UpsyncHeld` of a ClusterRegistration with `spec.upsync` have one of these reasons:",
    "",
    "| Reason | Meaning |",
    "| --- | --- |",
    ...Object.entries(upsyncReasons).map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |`),
    "",
  ].join("\n");
}

/** The part of the reasons page that is about Events. */
function eventSection(): string {
  return [
    "",
    "## What is told by Events",
    "",
    "What happens to workloads is on [a page of its own](workloads.md#what-a-record-says-besides). Besides, there are these Events:",
    "",
    "| Reason | Beside | Meaning |",
    "| --- | --- | --- |",
    ...eventReasons.map(({ reason, about, meaning }) => `| \`${reason}\` | ${about} | ${meaning} |`),
    "",
    "The same words about the same object are one Event that counts. Those about objects without a namespace are in `default`:",
    "`kubectl get events -n default`, or at the end of `kubectl describe cr east`. A heartbeat that went well is none, nor is the start",
    "of a function, which happens all day, and tenants of an export do not hear that their provider's controller has started. Where TMC may not",
    "write Events (a tenant need not accept that claim) nothing else is different.",
    "",
  ].join("\n");
}
