import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { invalidObject } from "../../api-errors.ts";
import type { HookContext, ResourceHooks } from "../../definition.ts";
import { isFields, listAt, objectAt, textAt, valueAt } from "../../fields.ts";
import { type FieldError, required } from "../../machinery/field-error.ts";
import { isEqual, isObject } from "../../machinery/json-value.ts";
import type { KcpAuthorizer } from "../authorization.ts";
import { bindingClaims } from "../claims.ts";
import type { Directory } from "../directory.ts";
import { bindingFinalizer, exportHash, exportLabel } from "../names.ts";
import { refusal, refusalOf } from "./refusal.ts";

const type = { group: "apis.kcp.io", plural: "apibindings", kind: "APIBinding" };

/** The rules of APIBindings: who may bind, what a claim must say, and the marks by which exports find their bindings. */
export function apiBindingHooks(directory: Directory, authorizer: () => KcpAuthorizer): ResourceHooks {
  /** The logical cluster of the export that a binding names, where the user may bind to it. */
  const boundCluster = (object: KubeObject, { cluster, user }: HookContext, verb: "create" | "update"): string => {
    const path = textAt(object, "spec", "reference", "export", "path");
    const name = textAt(object, "spec", "reference", "export", "name");
    // The same words whether the export is missing or not allowed: nobody is to learn what exists.
    const words = `unable to ${verb} APIBinding: no permission to bind to export ${path === "" ? "" : `${path}:`}${name}`;
    const exportCluster = exportClusterOf(directory, cluster, path, name);
    if (exportCluster === undefined) throw refusal(type, object, words);
    const bind = {
      verb: "bind",
      group: "apis.kcp.io",
      version: "v1alpha1",
      resource: "apiexports",
      subresource: "",
      namespace: "",
      name,
      path: "",
    };
    if (!authorizer().decide(exportCluster, user, bind, { deep: true })) throw refusal(type, object, words);
    return exportCluster;
  };
  const admit = (object: KubeObject, context: HookContext): void => {
    const name = textAt(object, "spec", "reference", "export", "name");
    const exportCluster = boundCluster(object, context, "create");
    object.metadata.labels = { ...object.metadata.labels, [exportLabel]: exportHash(exportCluster, name) };
    const finalizers = object.metadata.finalizers ?? [];
    if (!finalizers.includes(bindingFinalizer)) object.metadata.finalizers = [...finalizers, bindingFinalizer];
  };

  return {
    prepareCreate: (object, context) => {
      // Without a reference of the right shape the schema has the first word.
      if (!isObject(valueAt(object, "spec", "reference"))) return;
      if (!areClaimsReadable(object)) {
        showMissingVerbs(object);
        return;
      }
      const errors = errorsOf(object);
      if (errors.length > 0) throw refusalOf(type, object, errors);
      admit(object, context);
    },
    prepareUpdate: (object, old, context) => {
      if (!isObject(valueAt(object, "spec", "reference")) || !areClaimsReadable(object)) return;
      if (!isEqual(valueAt(object, "spec", "reference"), valueAt(old, "spec", "reference"))) {
        boundCluster(object, context, "update");
        const message = "Invalid value: APIExport reference must not be changed";
        throw invalidObject(type, object.metadata.name ?? "", [{ type: "Invalid", field: "spec.reference", message }]);
      }
      const errors = errorsOf(object);
      if (errors.length > 0) throw refusalOf(type, object, errors);
      const mark = old.metadata.labels?.[exportLabel];
      if (mark !== undefined) object.metadata.labels = { ...object.metadata.labels, [exportLabel]: mark };
    },
  };
}

/** Where the export of a binding is; no path means beside the binding, and the root is not looked into. */
function exportClusterOf(directory: Directory, cluster: string, path: string, name: string): string | undefined {
  if (path === "") return cluster;
  if (path === "root") return path;
  return directory.exportAt(path, name) === undefined ? undefined : directory.clusterAt(path);
}

const areClaimsReadable = (object: KubeObject): boolean =>
  object.apiVersion.endsWith("/v1alpha1") ||
  listAt(object, "spec", "permissionClaims").every((claim) => listAt(claim, "verbs").length > 0);

/** kcp reads the object into its own types before it validates it; what is missing there comes out as null. */
function showMissingVerbs(object: KubeObject): void {
  for (const claim of listAt(object, "spec", "permissionClaims")) {
    if (isFields(claim)) claim.verbs ??= null;
  }
}

function errorsOf(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const reference = objectAt(object, "spec", "reference");
  if (!isObject(reference.export)) errors.push(required("spec.reference.export"));
  else if (textAt(reference, "export", "name") === "") errors.push(required("spec.reference.export.name"));
  if (object.apiVersion.endsWith("/v1alpha1")) return errors;
  for (const [index, { selector }] of bindingClaims(object).entries()) {
    const field = `spec.permissionClaims[${index}].selector`;
    const labels = Object.keys(objectAt(selector, "matchLabels")).length > 0;
    const expressions = listAt(selector, "matchExpressions").length > 0;
    if (selector.matchAll !== true) {
      if (labels || expressions) continue;
      errors.push(required(field, "either one of matchAll, matchLabels, or matchExpressions must be set"));
      continue;
    }
    const shown = {
      ...(labels ? { matchLabels: selector.matchLabels } : {}),
      ...(expressions ? { matchExpressions: selector.matchExpressions } : {}),
      matchAll: true,
    };
    for (const [name, isUsed] of [
      ["matchLabels", labels],
      ["matchExpressions", expressions],
    ] as const) {
      const message = `Invalid value: ${JSON.stringify(shown)}: ${name} cannot be used with matchAll`;
      if (isUsed) errors.push({ type: "Invalid", field: `${field}.${name}`, message });
    }
  }
  return errors;
}
