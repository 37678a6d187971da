import { byKey } from "@tmc/kube/compare.ts";
import { textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTimestampAge } from "../../definitions/table.ts";
import { listAt, numberOrZeroAt, recordAt, recordsAt, textsAt } from "../../machinery/fields.ts";
import { age, type Cells, formatLabels, none, orNone } from "./cells.ts";

export const configMapCells: Cells = {
  Data: (object) => Object.keys(recordAt(object, "data")).length + Object.keys(recordAt(object, "binaryData")).length,
  Age: age,
};

export const secretCells: Cells = {
  Type: (object) => textAt(object, "type"),
  Data: (object) => Object.keys(recordAt(object, "data")).length,
  Age: age,
};

export const namespaceCells: Cells = { Status: (object) => textAt(object, "status", "phase"), Age: age };

export const ageCells: Cells = { Age: age };

export const createdCells: Cells = { "Created At": (object) => object.metadata.creationTimestamp ?? "" };

export const quotaCells: Cells = {
  Request: (object) => formatQuota(object, (name) => !name.startsWith("limits.")),
  Limit: (object) => formatQuota(object, (name) => name.startsWith("limits.")),
  Age: age,
};

function formatQuota(quota: KubeObject, isShown: (name: string) => boolean): string {
  const used = recordAt(quota, "status", "used");
  return Object.entries(recordAt(quota, "status", "hard"))
    .filter(([name]) => isShown(name))
    .toSorted(byKey)
    .map(([name, hard]) => `${name}: ${String(used[name] ?? "0")}/${String(hard)}`)
    .join(", ");
}

/** Cells of core events. Events of events.k8s.io are the same objects with other field names. */
export const eventCells: Cells = {
  "Last Seen": (event, now) => {
    const observed = textAt(event, "series", "lastObservedTime");
    if (observed !== "") return formatTimestampAge(observed, now);
    return formatTimestampAge(
      textAt(event, "lastTimestamp") || textAt(event, "deprecatedLastTimestamp") || firstSeen(event),
      now,
    );
  },
  Type: (event) => textAt(event, "type"),
  Reason: (event) => textAt(event, "reason"),
  Object: (event) => {
    const target = regarding(event);
    const kind = textAt(target, "kind").toLowerCase();
    return textAt(target, "name") === "" ? kind : `${kind}/${textAt(target, "name")}`;
  },
  Subobject: (event) => textAt(regarding(event), "fieldPath"),
  Source: (event) => {
    const source = valueAt(event, "source") ?? valueAt(event, "deprecatedSource");
    const component =
      textAt(source, "component") || textAt(event, "reportingComponent") || textAt(event, "reportingController");
    const host = textAt(source, "host") || textAt(event, "reportingInstance");
    return host === "" ? component : `${component}, ${host}`;
  },
  Message: (event) => (textAt(event, "message") || textAt(event, "note")).trim(),
  "First Seen": (event, now) => formatTimestampAge(firstSeen(event), now),
  Count: (event) =>
    numberOrZeroAt(event, "series", "count") ||
    numberOrZeroAt(event, "count") ||
    numberOrZeroAt(event, "deprecatedCount") ||
    1,
};

function firstSeen(event: KubeObject): string {
  return textAt(event, "firstTimestamp") || textAt(event, "deprecatedFirstTimestamp") || textAt(event, "eventTime");
}

function regarding(event: KubeObject): unknown {
  return valueAt(event, "involvedObject") ?? valueAt(event, "regarding");
}

export const nodeCells: Cells = {
  Status: (node) => {
    const ready = recordsAt(node, "status", "conditions").find(({ type }) => type === "Ready");
    const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
    return valueAt(node, "spec", "unschedulable") === true ? `${state},SchedulingDisabled` : state;
  },
  Roles: (node) => {
    const roles = Object.entries(node.metadata.labels ?? {}).flatMap(([key, value]) => {
      if (key.startsWith("node-role.kubernetes.io/")) return [key.slice("node-role.kubernetes.io/".length)];
      return key === "kubernetes.io/role" ? [value] : [];
    });
    return orNone(
      roles
        .filter((role) => role !== "")
        .toSorted()
        .join(","),
    );
  },
  Age: age,
  Version: (node) => textAt(node, "status", "nodeInfo", "kubeletVersion"),
  "Internal-IP": (node) => addressOfType(node, "InternalIP"),
  "External-IP": (node) => addressOfType(node, "ExternalIP"),
  "OS-Image": (node) => textAt(node, "status", "nodeInfo", "osImage") || "<unknown>",
  "Kernel-Version": (node) => {
    const kernel = textAt(node, "status", "nodeInfo", "kernelVersion");
    const architecture = textAt(node, "status", "nodeInfo", "architecture");
    if (kernel === "") return "<unknown>";
    return architecture === "" ? kernel : `${kernel} (${architecture})`;
  },
  "Container-Runtime": (node) => textAt(node, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>",
};

function addressOfType(node: KubeObject, addressType: string): string {
  return orNone(
    textAt(
      recordsAt(node, "status", "addresses").find(({ type }) => type === addressType),
      "address",
    ),
  );
}

const shortAccessMode: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

function accessModes(modes: readonly string[]): string {
  return modes.map((mode) => shortAccessMode[mode] ?? mode).join(",");
}

export const claimCells: Cells = {
  Status: (claim) =>
    claim.metadata.deletionTimestamp === undefined ? textAt(claim, "status", "phase") : "Terminating",
  Volume: (claim) => textAt(claim, "spec", "volumeName"),
  Capacity: (claim) =>
    textAt(claim, "spec", "volumeName") === "" ? "" : String(valueAt(claim, "status", "capacity", "storage") ?? "0"),
  "Access Modes": (claim) =>
    textAt(claim, "spec", "volumeName") === "" ? "" : accessModes(textsAt(claim, "status", "accessModes")),
  StorageClass: (claim) =>
    claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ??
    textAt(claim, "spec", "storageClassName"),
  VolumeAttributesClass: (claim) => textAt(claim, "spec", "volumeAttributesClassName") || "<unset>",
  Age: age,
  VolumeMode: (claim) => textAt(claim, "spec", "volumeMode") || "<unset>",
};

export const volumeCells: Cells = {
  Capacity: (volume) => String(valueAt(volume, "spec", "capacity", "storage") ?? "0"),
  "Access Modes": (volume) => accessModes(textsAt(volume, "spec", "accessModes")),
  "Reclaim Policy": (volume) => textAt(volume, "spec", "persistentVolumeReclaimPolicy"),
  Status: (volume) =>
    volume.metadata.deletionTimestamp === undefined ? textAt(volume, "status", "phase") : "Terminating",
  Claim: (volume) => {
    const name = textAt(volume, "spec", "claimRef", "name");
    return name === "" ? "" : `${textAt(volume, "spec", "claimRef", "namespace")}/${name}`;
  },
  StorageClass: (volume) => textAt(volume, "spec", "storageClassName"),
  VolumeAttributesClass: (volume) => textAt(volume, "spec", "volumeAttributesClassName") || "<unset>",
  Reason: (volume) => textAt(volume, "status", "reason"),
  Age: age,
  VolumeMode: (volume) => textAt(volume, "spec", "volumeMode") || "<unset>",
};

export const storageClassCells: Cells = {
  Provisioner: (object) => textAt(object, "provisioner"),
  ReclaimPolicy: (object) => textAt(object, "reclaimPolicy") || "Delete",
  VolumeBindingMode: (object) => textAt(object, "volumeBindingMode") || "Immediate",
  AllowVolumeExpansion: (object) => valueAt(object, "allowVolumeExpansion") === true,
  Age: age,
};

export const priorityClassCells: Cells = {
  Value: (object) => numberOrZeroAt(object, "value"),
  "Global-Default": (object) => valueAt(object, "globalDefault") === true,
  Age: age,
  PreemptionPolicy: (object) => textAt(object, "preemptionPolicy"),
};

export const leaseCells: Cells = { Holder: (object) => textAt(object, "spec", "holderIdentity"), Age: age };

export const webhookCells: Cells = { Webhooks: (object) => listAt(object, "webhooks").length, Age: age };

export const bindingCells: Cells = {
  Role: (object) => `${textAt(object, "roleRef", "kind")}/${textAt(object, "roleRef", "name")}`,
  Age: age,
  Users: (object) => subjectNames(object, "User"),
  Groups: (object) => subjectNames(object, "Group"),
  ServiceAccounts: (object) =>
    recordsAt(object, "subjects")
      .filter(({ kind }) => kind === "ServiceAccount")
      .map((subject) => `${textAt(subject, "namespace")}/${textAt(subject, "name")}`)
      .join(", "),
};

function subjectNames(binding: KubeObject, subjectKind: string): string {
  return recordsAt(binding, "subjects")
    .filter(({ kind }) => kind === subjectKind)
    .map((subject) => textAt(subject, "name"))
    .join(", ");
}

export const signingRequestCells: Cells = {
  Age: age,
  SignerName: (object) => orNone(textAt(object, "spec", "signerName")),
  Requestor: (object) => textAt(object, "spec", "username"),
  RequestedDuration: (object) => {
    const seconds = valueAt(object, "spec", "expirationSeconds");
    return typeof seconds === "number" ? formatTimestampAge(new Date(0).toISOString(), seconds * 1000) : none;
  },
  Condition: (object) => {
    const types = recordsAt(object, "status", "conditions").map(({ type }) => String(type));
    const state = ["Denied", "Approved"].find((type) => types.includes(type)) ?? "Pending";
    return [
      state,
      ...(types.includes("Failed") ? ["Failed"] : []),
      ...(textAt(object, "status", "certificate") === "" ? [] : ["Issued"]),
    ].join(",");
  },
};

export const podSelectorCells: Cells = {
  "Pod-Selector": (object) => {
    const labels = formatLabels(valueAt(object, "spec", "podSelector", "matchLabels"));
    return labels;
  },
  Age: age,
};
