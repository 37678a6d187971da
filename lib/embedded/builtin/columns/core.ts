import type { KubeObject } from "../../../model/kube-object.ts";
import { formatAge } from "../../table.ts";
import { count, field, list, map, objects, text, texts } from "../fields.ts";
import { age, type Cells, formatLabels, none, orNone } from "./cells.ts";

export const configMapCells: Cells = {
  Data: (object) => Object.keys(map(object, "data")).length + Object.keys(map(object, "binaryData")).length,
  Age: age,
};

export const secretCells: Cells = {
  Type: (object) => text(object, "type"),
  Data: (object) => Object.keys(map(object, "data")).length,
  Age: age,
};

export const namespaceCells: Cells = { Status: (object) => text(object, "status", "phase"), Age: age };

export const ageCells: Cells = { Age: age };

export const createdCells: Cells = { "Created At": (object) => object.metadata.creationTimestamp ?? "" };

export const quotaCells: Cells = {
  Request: (object) => formatQuota(object, (name) => !name.startsWith("limits.")),
  Limit: (object) => formatQuota(object, (name) => name.startsWith("limits.")),
  Age: age,
};

function formatQuota(quota: KubeObject, wanted: (name: string) => boolean): string {
  const used = map(quota, "status", "used");
  return Object.entries(map(quota, "status", "hard"))
    .filter(([name]) => wanted(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, hard]) => `${name}: ${String(used[name] ?? "0")}/${String(hard)}`)
    .join(", ");
}

/** Core events; those of events.k8s.io are the same objects under other field names. */
export const eventCells: Cells = {
  "Last Seen": (event, now) => {
    const observed = text(event, "series", "lastObservedTime");
    if (observed !== "") return formatAge(observed, now);
    return formatAge(text(event, "lastTimestamp") || text(event, "deprecatedLastTimestamp") || firstSeen(event), now);
  },
  Type: (event) => text(event, "type"),
  Reason: (event) => text(event, "reason"),
  Object: (event) => {
    const target = regarding(event);
    const kind = text(target, "kind").toLowerCase();
    return text(target, "name") === "" ? kind : `${kind}/${text(target, "name")}`;
  },
  Subobject: (event) => text(regarding(event), "fieldPath"),
  Source: (event) => {
    const source = field(event, "source") ?? field(event, "deprecatedSource");
    const component =
      text(source, "component") || text(event, "reportingComponent") || text(event, "reportingController");
    const host = text(source, "host") || text(event, "reportingInstance");
    return host === "" ? component : `${component}, ${host}`;
  },
  Message: (event) => (text(event, "message") || text(event, "note")).trim(),
  "First Seen": (event, now) => formatAge(firstSeen(event), now),
  Count: (event) => count(event, "series", "count") || count(event, "count") || count(event, "deprecatedCount") || 1,
};

function firstSeen(event: KubeObject): string {
  return text(event, "firstTimestamp") || text(event, "deprecatedFirstTimestamp") || text(event, "eventTime");
}

function regarding(event: KubeObject): unknown {
  return field(event, "involvedObject") ?? field(event, "regarding");
}

export const nodeCells: Cells = {
  Status: (node) => {
    const ready = objects(node, "status", "conditions").find(({ type }) => type === "Ready");
    const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
    return field(node, "spec", "unschedulable") === true ? `${state},SchedulingDisabled` : state;
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
  Version: (node) => text(node, "status", "nodeInfo", "kubeletVersion"),
  "Internal-IP": (node) => address(node, "InternalIP"),
  "External-IP": (node) => address(node, "ExternalIP"),
  "OS-Image": (node) => text(node, "status", "nodeInfo", "osImage") || "<unknown>",
  "Kernel-Version": (node) => {
    const kernel = text(node, "status", "nodeInfo", "kernelVersion");
    const architecture = text(node, "status", "nodeInfo", "architecture");
    if (kernel === "") return "<unknown>";
    return architecture === "" ? kernel : `${kernel} (${architecture})`;
  },
  "Container-Runtime": (node) => text(node, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>",
};

function address(node: KubeObject, wanted: string): string {
  return orNone(
    text(
      objects(node, "status", "addresses").find(({ type }) => type === wanted),
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
  Status: (claim) => (claim.metadata.deletionTimestamp === undefined ? text(claim, "status", "phase") : "Terminating"),
  Volume: (claim) => text(claim, "spec", "volumeName"),
  Capacity: (claim) =>
    text(claim, "spec", "volumeName") === "" ? "" : String(field(claim, "status", "capacity", "storage") ?? "0"),
  "Access Modes": (claim) =>
    text(claim, "spec", "volumeName") === "" ? "" : accessModes(texts(claim, "status", "accessModes")),
  StorageClass: (claim) =>
    claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? text(claim, "spec", "storageClassName"),
  VolumeAttributesClass: (claim) => text(claim, "spec", "volumeAttributesClassName") || "<unset>",
  Age: age,
  VolumeMode: (claim) => text(claim, "spec", "volumeMode") || "<unset>",
};

export const volumeCells: Cells = {
  Capacity: (volume) => String(field(volume, "spec", "capacity", "storage") ?? "0"),
  "Access Modes": (volume) => accessModes(texts(volume, "spec", "accessModes")),
  "Reclaim Policy": (volume) => text(volume, "spec", "persistentVolumeReclaimPolicy"),
  Status: (volume) =>
    volume.metadata.deletionTimestamp === undefined ? text(volume, "status", "phase") : "Terminating",
  Claim: (volume) => {
    const name = text(volume, "spec", "claimRef", "name");
    return name === "" ? "" : `${text(volume, "spec", "claimRef", "namespace")}/${name}`;
  },
  StorageClass: (volume) => text(volume, "spec", "storageClassName"),
  VolumeAttributesClass: (volume) => text(volume, "spec", "volumeAttributesClassName") || "<unset>",
  Reason: (volume) => text(volume, "status", "reason"),
  Age: age,
  VolumeMode: (volume) => text(volume, "spec", "volumeMode") || "<unset>",
};

export const storageClassCells: Cells = {
  Provisioner: (object) => text(object, "provisioner"),
  ReclaimPolicy: (object) => text(object, "reclaimPolicy") || "Delete",
  VolumeBindingMode: (object) => text(object, "volumeBindingMode") || "Immediate",
  AllowVolumeExpansion: (object) => field(object, "allowVolumeExpansion") === true,
  Age: age,
};

export const priorityClassCells: Cells = {
  Value: (object) => count(object, "value"),
  "Global-Default": (object) => field(object, "globalDefault") === true,
  Age: age,
  PreemptionPolicy: (object) => text(object, "preemptionPolicy"),
};

export const leaseCells: Cells = { Holder: (object) => text(object, "spec", "holderIdentity"), Age: age };

export const webhookCells: Cells = { Webhooks: (object) => list(object, "webhooks").length, Age: age };

export const bindingCells: Cells = {
  Role: (object) => `${text(object, "roleRef", "kind")}/${text(object, "roleRef", "name")}`,
  Age: age,
  Users: (object) => subjectNames(object, "User"),
  Groups: (object) => subjectNames(object, "Group"),
  ServiceAccounts: (object) =>
    objects(object, "subjects")
      .filter(({ kind }) => kind === "ServiceAccount")
      .map((subject) => `${text(subject, "namespace")}/${text(subject, "name")}`)
      .join(", "),
};

function subjectNames(binding: KubeObject, wanted: string): string {
  return objects(binding, "subjects")
    .filter(({ kind }) => kind === wanted)
    .map((subject) => text(subject, "name"))
    .join(", ");
}

export const signingRequestCells: Cells = {
  Age: age,
  SignerName: (object) => orNone(text(object, "spec", "signerName")),
  Requestor: (object) => text(object, "spec", "username"),
  RequestedDuration: (object) => {
    const seconds = field(object, "spec", "expirationSeconds");
    return typeof seconds === "number" ? formatAge(new Date(0).toISOString(), seconds * 1000) : none;
  },
  Condition: (object) => {
    const types = objects(object, "status", "conditions").map(({ type }) => String(type));
    const state = ["Denied", "Approved"].find((type) => types.includes(type)) ?? "Pending";
    return [
      state,
      ...(types.includes("Failed") ? ["Failed"] : []),
      ...(text(object, "status", "certificate") === "" ? [] : ["Issued"]),
    ].join(",");
  },
};

export const podSelectorCells: Cells = {
  "Pod-Selector": (object) => {
    const labels = formatLabels(field(object, "spec", "podSelector", "matchLabels"));
    return labels;
  },
  Age: age,
};
