import { isClaimed, workloadKindsWith } from "../../lib/api/workload-kinds.ts";
import { copyReasons, healthReasons } from "../../lib/sync/status/reasons.ts";

import { healthWords, statusWords } from "./status-rules.ts";

/** The page about workloads, as Markdown: which types there are, and what becomes of their statuses. */
export function workloadsPage(): string {
  const types = workloadKindsWith().map((type) => {
    const { apiVersion, kind } = type;
    const status = isClaimed(type) ? "has none" : (statusWords(type) ?? "");
    return `| ${kind} | \`${apiVersion}\` | ${status} | ${healthWords(type) ?? ""} |`;
  });
  const reasons = Object.entries({ ...healthReasons, ...copyReasons })
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |`);
  return [
    "# Workloads",
    "",
    "<!-- Made from scripts/docs/workloads-page.ts by `npm run generate`; change it there. -->",
    "",
    "What a placement's `workloadSelector` selects is put on the clusters that the placement has chosen, and its status comes back.",
    "",
    "## Types",
    "",
    "These, and the types that an operator adds; there are no others. Fields of a status that are not named are kept where all",
    "clusters say the same, and left out where they do not. One cluster's status passes as it is.",
    "",
    "| Kind | apiVersion | Status of several clusters | A copy is ready when |",
    "| --- | --- | --- | --- |",
    ...types,
    "",
    "ConfigMaps, Secrets and ServiceAccounts are workloads only where `workloadTypes` names them; what a pod template refers to comes",
    "along by itself, claims too. Pods are not mirrored.",
    "",
    ...customSection,
    "## How ready a workload is",
    "",
    "`spec.status.health` of the placement says on how many of its clusters a workload has to be ready for its record (`WorkloadSync`) to",
    "say `Ready`: `All` (unless said otherwise), `Any`, or the `Majority`. The message counts them in any case: `ready on 2 of 3 clusters: west",
    "NotReady`. A copy leaves a cluster only when the workload is ready on all that it belongs on, whatever this says.",
    "",
    "## What a record says besides",
    "",
    "| Condition | Meaning |",
    "| --- | --- |",
    "| `Stalled` | A copy could not be written, for the same reason, for five minutes; it is tried again all the same. |",
    "| `SpecsDiffer` | The clusters do not all have the same: overrides make it so, or somebody who may (`drift: Report`). The message has the paths; metadata and divided replicas do not count. |",
    "| `DeletionsHeld` | Copies would leave, and somebody has to confirm that. |",
    "| `ReplicasPlaced` | False when min and max leave replicas without a place. |",
    "| `StatusRuleKnown` | False when `tmc.kcp.io/status-strategy` is a word that there is none of; it is passed over then. |",
    "",
    "Each of them is there only once there was something to say. People hear by Events beside the workload of `Synced`, `SyncFailed`,",
    "`Transformed` (by overrides), `DriftReverted`, `ReferenceMissing`, `DeletionsHeld` and `Stalled`, and as of [every object](reasons.md#what-is-told-by-events) of",
    "`ControllerError`; the same words are one Event.",
    "",
    "## Why a copy is in its state",
    "",
    "| Reason | Meaning |",
    "| --- | --- |",
    ...reasons,
    "",
  ].join("\n");
}

const customSection: readonly string[] = [
  "## Types of your own",
  "",
  "An operator adds a CustomResourceDefinition with namespaces and one version:",
  "",
  "```sh",
  "tmc bootstrap --crd examples/database-crd.yaml",
  "```",
  "",
  "A controller with `--api-export` reads the export's types when it starts; start it again after adding one. One that reaches workspaces",
  "directly, or a plain Kubernetes hub, is given the file: `tmc controller --crd examples/database-crd.yaml`.",
  "",
  "**On clusters.** A cluster that does not serve the type is left out by a placement that names the type in `workloadTypes`; otherwise the",
  "workload's record says `TypeNotServed`. It heals when the cluster serves the type: of a workload within two minutes, of a",
  "placement's choice when the cluster's types are looked at again, every ten minutes. With `customResources: Install` in the placement the cluster is",
  "given the definition, by server-side apply, marked with `tmc.kcp.io/definition`, and objects follow once it is established. Credentials of",
  "the cluster then have to allow `get`, `create` and `patch` of `customresourcedefinitions`. What TMC wrote for the same hub is brought up to",
  "date, never to an older schema of the export; a definition of anybody else is never changed, and used when it serves the version",
  "(`ForeignType` when not). No definition is ever removed: with it would go every object of the type, whoever made it.",
  "",
  "**Their status.** Nothing is added up unless somebody says so, as nobody knows what a number counts: fields that are alike are kept. Another way is",
  "chosen by the annotation `tmc.kcp.io/status-strategy` on the workload, else by `spec.status.aggregation` of the placement, else by the same",
  "annotation on the definition: `union`, `intersection`, `priority` or `latest` ([what they do](../lib/sync/status/README.md)). The annotation",
  "`tmc.kcp.io/status-sum: connections,sessions` on the definition names fields that are added up. A copy is ready by the conditions that most",
  "controllers hold to: `Ready`, else `Available`, else `Healthy`; else by `phase` or `state`; else by its replicas; else once it is there.",
  "",
];
