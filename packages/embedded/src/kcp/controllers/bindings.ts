import { byKey } from "@tmc/kube/compare.ts";
import { textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, recordAt, textsAt } from "../../machinery/fields.ts";
import { type FalseCondition, type KcpConditions, kcpConditionsOf } from "../conditions.ts";
import { logicalClusterOf } from "../directory.ts";
import { bindingFinalizer, claimLabelPrefix, exportLabel } from "../names.ts";
import { systemTypes } from "../system-client.ts";
import { applyClaims } from "./binding-claims.ts";
import { namingConflict } from "./naming-conflicts.ts";
import { lockResources, unlockResources } from "./resource-locks.ts";
import type { ControllerWorld } from "./world.ts";

/** Reconciles an APIBinding: from new to `Binding` to `Bound`, with the current types of its export. */
export function reconcileBinding(world: ControllerWorld, logicalCluster: string, name: string): void {
  const { client, directory, clock, delays, loop } = world;
  const binding = client.find(systemTypes.bindings, { logicalCluster }, name);
  if (binding === undefined) {
    unlockResources(world, logicalCluster, name);
    return;
  }
  if (binding.metadata.deletionTimestamp !== undefined) {
    deleteBinding(world, binding);
    return;
  }

  const conditions = kcpConditionsOf(valueAt(binding, "status", "conditions"), clock.now());
  const status: Record<string, unknown> = { ...recordAt(binding, "status") };
  if (textAt(status, "phase") === "") {
    status.phase = "Binding";
    const message = "Waiting for API(s) to be established";
    conditions.markFalse("InitialBindingCompleted", { reason: "WaitingForEstablished", severity: "Info", message });
  } else {
    const waitMs = (delays().bindingMs ?? 0) - (clock.now() - Date.parse(binding.metadata.creationTimestamp ?? ""));
    const isWaiting = textAt(status, "phase") === "Binding" && waitMs > 0;
    bind(world, binding, status, conditions, isWaiting);
    if (isWaiting) loop.addAfter(waitMs, { kind: "binding", logicalCluster, name });
    applyClaims(world, binding, status, conditions);
  }
  conditions.summarize("InitialBindingCompleted");
  status.conditions = conditions.list();
  const written = client.writeStatus(systemTypes.bindings, { logicalCluster }, binding, status);

  // The label by which the virtual workspace finds bindings is set by the next write.
  const hash = written.metadata.labels?.[exportLabel];
  const isFound = directory.apiExport(textAt(status, "apiExportClusterName"), exportNameOf(binding)) !== undefined;
  if (hash !== undefined && isFound && written.metadata.labels?.[claimLabelPrefix + hash] === undefined) {
    client.merge(systemTypes.bindings, { logicalCluster }, name, {});
  }
}

const exportNameOf = (binding: KubeObject): string => textAt(binding, "spec", "reference", "export", "name");

function bind(
  world: ControllerWorld,
  binding: KubeObject,
  status: Record<string, unknown>,
  conditions: KcpConditions,
  isWaiting: boolean,
): void {
  const { directory } = world;
  const logicalCluster = logicalClusterOf(binding);
  const referencedPath = textAt(binding, "spec", "reference", "export", "path");
  const path = referencedPath === "" ? logicalCluster : referencedPath;
  const name = exportNameOf(binding);
  const apiExport = directory.exportAt(path, name);
  const invalidExport = (reason: string, message: string, severity: FalseCondition["severity"] = "Error"): void =>
    conditions.markFalse("APIExportValid", { reason, severity, message });
  const notUpToDate = (why: FalseCondition): void => {
    conditions.markFalse("BindingUpToDate", why);
    if (conditions.isFalse("InitialBindingCompleted")) conditions.markFalse("InitialBindingCompleted", why);
  };

  if (apiExport === undefined) {
    invalidExport("APIExportNotFound", `APIExport ${path}|${name} not found`);
    return;
  }
  const claims = listAt(apiExport, "spec", "permissionClaims");
  status.exportPermissionClaims = claims.length === 0 ? undefined : claims;
  const identity = textAt(apiExport, "status", "identityHash");
  if (identity === "") {
    invalidExport("MissingIdentityHash", `APIExport ${path}|${name} is missing status.identityHash`, "Warning");
    return;
  }
  const exportCluster = logicalClusterOf(apiExport);
  status.apiExportClusterName = exportCluster;

  const schemas: KubeObject[] = [];
  for (const resource of listAt(apiExport, "spec", "resources")) {
    const schemaName = textAt(resource, "schema");
    const schema = directory.schema(exportCluster, schemaName);
    if (schema === undefined) {
      const prefix = "Invalid APIExport. Please contact the APIExport owner to resolve";
      invalidExport("InternalError", `${prefix}: APIResourceSchema "${schemaName}" not found`);
      return;
    }
    schemas.push(schema);
  }
  if (isWaiting) {
    conditions.markTrue("APIExportValid");
    const names = schemas.map((schema) => schema.metadata.name ?? "").toSorted();
    const message = `Waiting for API(s) to be established: ${names.join(", ")}`;
    notUpToDate({ reason: "WaitingForEstablished", severity: "Info", message });
    return;
  }

  const bindingName = binding.metadata.name ?? "";
  const skipped = lockResources(world, logicalCluster, bindingName, schemas.map(resourceOf));
  const conflicts = "NamingConflicts";
  const bound = [...listAt(status, "boundResources")];
  for (const schema of schemas.filter((candidate) => !skipped.has(resourceOf(candidate)))) {
    const conflict = namingConflict(world, binding, schema);
    if (conflict !== undefined) {
      notUpToDate({ reason: conflicts, severity: "Error", message: `Unable to bind APIs: ${conflict}` });
      status.boundResources = bound.length === 0 ? undefined : bound;
      return;
    }
    setBound(bound, schema, identity);
  }
  status.boundResources = bound.length === 0 ? undefined : bound;
  conditions.markTrue("APIExportValid");
  if (skipped.size > 0) {
    const shown = [...skipped].toSorted(byKey).map(([key, owner]) => `${key}:${owner}`);
    const prefix = "Unable to bind APIs because they are bound by other APIBindings or CRDs";
    notUpToDate({ reason: conflicts, severity: "Error", message: `${prefix}: map[${shown.join(" ")}]` });
    return;
  }
  conditions.markTrue("InitialBindingCompleted");
  conditions.markTrue("BindingUpToDate");
  status.phase = "Bound";
}

const resourceOf = (schema: KubeObject): string => {
  const group = textAt(schema, "spec", "group");
  const plural = textAt(schema, "spec", "names", "plural");
  return group === "" ? plural : `${plural}.${group}`;
};

/** Types that the export no longer lists stay bound: a removal cannot be distinguished from a rename. */
function setBound(bound: unknown[], schema: KubeObject, identity: string): void {
  const group = textAt(schema, "spec", "group");
  const resource = textAt(schema, "spec", "names", "plural");
  const index = bound.findIndex((item) => textAt(item, "group") === group && textAt(item, "resource") === resource);
  const stored = listAt(schema, "spec", "versions")
    .filter((version) => valueAt(version, "storage") === true)
    .map((version) => textAt(version, "name"));
  const storageVersions = [...new Set([...textsAt(bound[index], "storageVersions"), ...stored])].toSorted();
  const entry = {
    group,
    resource,
    schema: { name: schema.metadata.name ?? "", UID: schema.metadata.uid ?? "", identityHash: identity },
    storageVersions,
  };
  if (index < 0) bound.push(entry);
  else bound[index] = entry;
}

/** Deletes all instances of the bound types, then removes the finalizer of the binding. */
function deleteBinding({ client, catalogs, store, clock, directory }: ControllerWorld, binding: KubeObject): void {
  const logicalCluster = logicalClusterOf(binding);
  const name = binding.metadata.name ?? "";
  const finalizers = binding.metadata.finalizers ?? [];
  if (!finalizers.includes(bindingFinalizer)) return;
  const remaining: Record<string, number> = {};
  const withFinalizers: Record<string, number> = {};
  for (const resource of listAt(binding, "status", "boundResources")) {
    const group = textAt(resource, "group");
    const plural = textAt(resource, "resource");
    const identity = textAt(resource, "schema", "identityHash");
    const definition = catalogs
      .of(logicalCluster)
      .definitions()
      .find((item) => item.group === group && item.plural === plural && item.storage.endsWith(`:${identity}`));
    if (definition === undefined) continue;
    for (const object of store.list(definition.storage, { logicalCluster })) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      client.remove(definition, { logicalCluster, namespace: object.metadata.namespace }, object.metadata.name ?? "");
    }
    for (const object of store.list(definition.storage, { logicalCluster })) {
      const shown = `${plural}.${group}`;
      remaining[shown] = (remaining[shown] ?? 0) + 1;
      for (const finalizer of object.metadata.finalizers ?? []) {
        withFinalizers[finalizer] = (withFinalizers[finalizer] ?? 0) + 1;
      }
    }
  }
  const present = directory.bindings(logicalCluster).find((item) => item.metadata.name === name);
  if (present === undefined) return;
  if (Object.keys(remaining).length === 0) {
    client.merge(systemTypes.bindings, { logicalCluster }, name, {
      metadata: { finalizers: finalizers.filter((item) => item !== bindingFinalizer) },
    });
    return;
  }
  const counted = (counts: Readonly<Record<string, number>>, between: string): string =>
    Object.entries(counts)
      .map(([key, number]) => `${key} ${between} ${number} resource instances`)
      .toSorted()
      .join(", ");
  const why: FalseCondition =
    Object.keys(withFinalizers).length > 0
      ? {
          reason: "SomeFinalizersRemain",
          severity: "Error",
          message: `Some content in the workspace has finalizers remaining: ${counted(withFinalizers, "in")}`,
        }
      : {
          reason: "SomeResourcesRemain",
          severity: "Error",
          message: `Some resources are remaining: ${counted(remaining, "has")}`,
        };
  const conditions = kcpConditionsOf(valueAt(present, "status", "conditions"), clock.now());
  conditions.markFalse("BindingResourceDeleteSuccess", why);
  client.writeStatus(systemTypes.bindings, { logicalCluster }, present, {
    ...recordAt(present, "status"),
    conditions: conditions.list(),
  });
}
