import { isFields, isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { HookContext, ResourceHooks } from "../../definitions/definition.ts";
import { invalidObject } from "../../machinery/api-errors.ts";
import { type FieldError, required } from "../../machinery/field-error.ts";
import { listAt, recordAt } from "../../machinery/fields.ts";
import { isEqual } from "../../machinery/json-value.ts";
import type { KcpAuthorizer } from "../authorization.ts";
import { bindingClaims } from "../claims.ts";
import type { Directory } from "../directory.ts";
import { bindingFinalizer, exportHash, exportLabel } from "../names.ts";
import { fieldRejection, kcpRejection } from "./rejection.ts";

const type = { group: "apis.kcp.io", plural: "apibindings", kind: "APIBinding" };

/** Admission of APIBindings: permission to bind, valid claims, and the label by which an export finds its bindings. */
export function apiBindingHooks(directory: Directory, authorizer: () => KcpAuthorizer): ResourceHooks {
  /** Returns the logical cluster of the export that a binding references; throws if the user may not bind to it. */
  const boundCluster = (
    object: KubeObject,
    { logicalCluster, user }: HookContext,
    verb: "create" | "update",
  ): string => {
    const path = textAt(object, "spec", "reference", "export", "path");
    const name = textAt(object, "spec", "reference", "export", "name");
    // The message is the same for missing and forbidden exports, so that users cannot probe for exports.
    const message = `unable to ${verb} APIBinding: no permission to bind to export ${path === "" ? "" : `${path}:`}${name}`;
    const exportCluster = exportClusterOf(directory, logicalCluster, path, name);
    if (exportCluster === undefined) throw kcpRejection(type, object, message);
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
    if (!authorizer().decide(exportCluster, user, bind, { deep: true })) throw kcpRejection(type, object, message);
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
      // If the reference is malformed, schema validation reports it.
      if (!isFields(valueAt(object, "spec", "reference"))) return;
      if (!areClaimsReadable(object)) {
        showMissingVerbs(object);
        return;
      }
      const errors = errorsOf(object);
      if (errors.length > 0) throw fieldRejection(type, object, errors);
      admit(object, context);
    },
    prepareUpdate: (object, old, context) => {
      if (!isFields(valueAt(object, "spec", "reference")) || !areClaimsReadable(object)) return;
      if (!isEqual(valueAt(object, "spec", "reference"), valueAt(old, "spec", "reference"))) {
        boundCluster(object, context, "update");
        const message = "Invalid value: APIExport reference must not be changed";
        throw invalidObject(type, object.metadata.name ?? "", [{ type: "Invalid", field: "spec.reference", message }]);
      }
      const errors = errorsOf(object);
      if (errors.length > 0) throw fieldRejection(type, object, errors);
      const hash = old.metadata.labels?.[exportLabel];
      if (hash !== undefined) object.metadata.labels = { ...object.metadata.labels, [exportLabel]: hash };
    },
  };
}

/**
 * Finds the export's logical cluster. An empty path means the binding's own workspace. As in kcp, an export in root is
 * not checked for existence.
 */
function exportClusterOf(directory: Directory, logicalCluster: string, path: string, name: string): string | undefined {
  if (path === "") return logicalCluster;
  if (path === "root") return path;
  return directory.exportAt(path, name) === undefined ? undefined : directory.logicalClusterAt(path);
}

const areClaimsReadable = (object: KubeObject): boolean =>
  object.apiVersion.endsWith("/v1alpha1") ||
  listAt(object, "spec", "permissionClaims").every((claim) => listAt(claim, "verbs").length > 0);

/** kcp decodes the object into Go types before it validates, so missing verbs appear as null in messages. */
function showMissingVerbs(object: KubeObject): void {
  for (const claim of listAt(object, "spec", "permissionClaims")) {
    if (isRecord(claim)) claim.verbs ??= null;
  }
}

function errorsOf(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const reference = recordAt(object, "spec", "reference");
  if (!isFields(reference.export)) errors.push(required("spec.reference.export"));
  else if (textAt(reference, "export", "name") === "") errors.push(required("spec.reference.export.name"));
  if (object.apiVersion.endsWith("/v1alpha1")) return errors;
  for (const [index, { selector }] of bindingClaims(object).entries()) {
    const field = `spec.permissionClaims[${index}].selector`;
    const labels = Object.keys(recordAt(selector, "matchLabels")).length > 0;
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
