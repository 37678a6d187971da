import { textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import type { Cells } from "./columns/cells.ts";
import * as core from "./columns/core.ts";
import * as network from "./columns/network.ts";
import { podCells } from "./columns/pods.ts";
import * as workloads from "./columns/workloads.ts";
import { autoscalerConversion, eventConversion } from "./conversions.ts";
import * as coreRules from "./rules/core.ts";
import * as networkRules from "./rules/network.ts";
import * as otherRules from "./rules/others.ts";
import { podRules } from "./rules/pods.ts";
import type { BuiltinRules } from "./rules/rules.ts";
import * as workloadRules from "./rules/workloads.ts";
import type { ServedType } from "./served-types.ts";

/** Facts about a built-in type that are in neither discovery nor its schema. */
export type TypeTraits = Readonly<{
  cells?: Cells;
  rules?: BuiltinRules;
  /** Whether objects have metadata.generation; most built-in types do not. */
  generation?: boolean;
  scale?: ResourceDefinition["scale"];
  selectableFields?: ResourceDefinition["selectableFields"];
  /** The storage name, if it is not the type's own name. */
  storage?: string;
  conversion?: NonNullable<ResourceDefinition["conversion"]>;
}>;

const replicas = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".spec.selector",
} as const;

const readText =
  (...path: readonly string[]) =>
  (object: KubeObject): string => {
    const value = valueAt(object, ...path);
    return value === undefined || value === null ? "" : String(value);
  };

/** Selectable fields of events under both field names, because a selector may see an event in either form. */
function eventFields(prefix: string): NonNullable<ResourceDefinition["selectableFields"]> {
  const names = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
  const regarding = names.map((name) => [
    `${prefix}.${name}`,
    (event: KubeObject) => textAt(event, "involvedObject", name) || textAt(event, "regarding", name),
  ]);
  const reporter = (event: KubeObject) => textAt(event, "reportingComponent") || textAt(event, "reportingController");
  return {
    ...Object.fromEntries(regarding),
    reason: readText("reason"),
    type: readText("type"),
    [prefix === "regarding" ? "reportingController" : "reportingComponent"]: reporter,
    source: (event) =>
      textAt(event, "source", "component") || textAt(event, "deprecatedSource", "component") || reporter(event),
  };
}

/** All built-in types with such facts. Facts that differ between servers are in definitions.ts. */
export const typeTraits: Readonly<Partial<Record<ServedType, TypeTraits>>> = {
  "/v1/configmaps": { cells: core.configMapCells, rules: coreRules.configMapRules },
  "/v1/events": {
    cells: core.eventCells,
    rules: coreRules.eventRules,
    selectableFields: eventFields("involvedObject"),
  },
  "/v1/limitranges": { cells: core.createdCells, rules: coreRules.limitRangeRules },
  "/v1/namespaces": { cells: core.namespaceCells, selectableFields: { "status.phase": readText("status", "phase") } },
  "/v1/resourcequotas": { cells: core.quotaCells },
  "/v1/secrets": {
    cells: core.secretCells,
    rules: coreRules.secretRules,
    selectableFields: { type: readText("type") },
  },
  "/v1/serviceaccounts": { cells: core.ageCells },
  "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": {
    cells: core.webhookCells,
    rules: otherRules.webhookRules,
    generation: true,
  },
  "admissionregistration.k8s.io/v1/validatingwebhookconfigurations": {
    cells: core.webhookCells,
    rules: otherRules.webhookRules,
    generation: true,
  },
  "apiextensions.k8s.io/v1/customresourcedefinitions": { cells: core.createdCells, generation: true },
  "certificates.k8s.io/v1/certificatesigningrequests": {
    cells: core.signingRequestCells,
    rules: otherRules.signingRequestRules,
    selectableFields: { "spec.signerName": readText("spec", "signerName") },
  },
  "coordination.k8s.io/v1/leases": { cells: core.leaseCells },
  "events.k8s.io/v1/events": {
    cells: core.eventCells,
    rules: coreRules.newEventRules,
    selectableFields: eventFields("regarding"),
    storage: "events",
    conversion: eventConversion,
  },
  "rbac.authorization.k8s.io/v1/clusterrolebindings": {
    cells: core.bindingCells,
    rules: coreRules.roleBindingRules(["ClusterRole"]),
  },
  "rbac.authorization.k8s.io/v1/clusterroles": { cells: core.createdCells, rules: coreRules.roleRules(false) },
  "rbac.authorization.k8s.io/v1/rolebindings": {
    cells: core.bindingCells,
    rules: coreRules.roleBindingRules(["Role", "ClusterRole"]),
  },
  "rbac.authorization.k8s.io/v1/roles": { cells: core.createdCells, rules: coreRules.roleRules(true) },
  "/v1/endpoints": { cells: network.endpointsCells, rules: networkRules.endpointsRules },
  "/v1/nodes": {
    cells: core.nodeCells,
    selectableFields: { "spec.unschedulable": (node) => String(valueAt(node, "spec", "unschedulable") === true) },
  },
  "/v1/persistentvolumeclaims": { cells: core.claimCells, rules: coreRules.claimRules },
  "/v1/persistentvolumes": { cells: core.volumeCells, rules: coreRules.volumeRules },
  "/v1/pods": {
    cells: podCells,
    rules: podRules,
    generation: true,
    selectableFields: {
      "spec.nodeName": readText("spec", "nodeName"),
      "spec.restartPolicy": readText("spec", "restartPolicy"),
      "spec.schedulerName": readText("spec", "schedulerName"),
      "spec.serviceAccountName": readText("spec", "serviceAccountName"),
      "spec.hostNetwork": (pod) => String(valueAt(pod, "spec", "hostNetwork") === true),
      "status.phase": readText("status", "phase"),
      "status.podIP": readText("status", "podIP"),
      "status.nominatedNodeName": readText("status", "nominatedNodeName"),
    },
  },
  "/v1/podtemplates": {
    cells: workloads.podTemplateCells,
    rules: workloadRules.podTemplateRules,
    generation: true,
  },
  "/v1/replicationcontrollers": {
    cells: workloads.replicationControllerCells,
    rules: workloadRules.replicationControllerRules,
    generation: true,
    scale: replicas,
    selectableFields: { "status.replicas": readText("status", "replicas") },
  },
  "/v1/services": {
    cells: network.serviceCells,
    selectableFields: { "spec.clusterIP": readText("spec", "clusterIP"), "spec.type": readText("spec", "type") },
  },
  "apps/v1/controllerrevisions": { cells: workloads.controllerRevisionCells },
  "apps/v1/daemonsets": {
    cells: workloads.daemonSetCells,
    rules: workloadRules.daemonSetRules,
    generation: true,
  },
  "apps/v1/deployments": {
    cells: workloads.deploymentCells,
    rules: workloadRules.deploymentRules,
    generation: true,
    scale: replicas,
  },
  "apps/v1/replicasets": {
    cells: workloads.replicaSetCells,
    rules: workloadRules.replicaSetRules,
    generation: true,
    scale: replicas,
    selectableFields: { "status.replicas": readText("status", "replicas") },
  },
  "apps/v1/statefulsets": {
    cells: workloads.statefulSetCells,
    rules: workloadRules.statefulSetRules,
    generation: true,
    scale: replicas,
  },
  "autoscaling/v1/horizontalpodautoscalers": {
    cells: workloads.oldAutoscalerCells,
    rules: otherRules.oldAutoscalerRules,
    conversion: autoscalerConversion,
  },
  "autoscaling/v2/horizontalpodautoscalers": {
    cells: workloads.autoscalerCells,
    rules: otherRules.autoscalerRules,
  },
  "batch/v1/cronjobs": { cells: workloads.cronJobCells, rules: workloadRules.cronJobRules, generation: true },
  "batch/v1/jobs": {
    cells: workloads.jobCells,
    rules: workloadRules.jobRules,
    generation: true,
    selectableFields: { "status.successful": (job) => readText("status", "succeeded")(job) || "0" },
  },
  "discovery.k8s.io/v1/endpointslices": {
    cells: network.endpointSliceCells,
    rules: networkRules.endpointSliceRules,
    generation: true,
  },
  "networking.k8s.io/v1/ingressclasses": { cells: network.ingressClassCells, generation: true },
  "networking.k8s.io/v1/ingresses": {
    cells: network.ingressCells,
    rules: networkRules.ingressRules,
    generation: true,
  },
  "networking.k8s.io/v1/networkpolicies": {
    cells: core.podSelectorCells,
    rules: networkRules.networkPolicyRules,
    generation: true,
  },
  "policy/v1/poddisruptionbudgets": { cells: workloads.disruptionBudgetCells, generation: true },
  "scheduling.k8s.io/v1/priorityclasses": {
    cells: core.priorityClassCells,
    rules: otherRules.priorityClassRules,
    generation: true,
  },
  "storage.k8s.io/v1/storageclasses": { cells: core.storageClassCells, rules: otherRules.storageClassRules },
};
