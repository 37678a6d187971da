import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceHooks } from "../../definitions/definition.ts";
import { invalid } from "../../machinery/field-error.ts";
import { listAt } from "../../machinery/fields.ts";
import { isBuiltinClaim } from "../claimable-types.ts";
import { exportClaims } from "../claims.ts";
import { exportToStored } from "../conversion.ts";
import { formatFieldError, kcpRejection } from "./rejection.ts";

const type = { group: "apis.kcp.io", plural: "apiexports" };

/**
 * Admission of APIExports: claims on types of other exports need an identity, and a schema's name must end in the
 * resource it describes.
 */
export const apiExportHooks: ResourceHooks = { prepareCreate: check, prepareUpdate: check };

function check(object: KubeObject): void {
  const stored = object.apiVersion.endsWith("/v1alpha1") ? exportToStored(object) : object;
  for (const [index, { group, resource, identityHash }] of exportClaims(stored).entries()) {
    if (identityHash === "" && group !== "apis.kcp.io" && !isBuiltinClaim(group, resource) && isGroupName(group)) {
      const why = "identityHash is required for API types that are not built-in";
      throw kcpRejection(
        type,
        object,
        formatFieldError(invalid(`spec.permissionClaims[${index}].identityHash`, "", why)),
      );
    }
  }
  for (const [index, resource] of listAt(stored, "spec", "resources").entries()) {
    const schema = textAt(resource, "schema");
    const end = `.${textAt(resource, "name")}.${textAt(resource, "group") || "core"}`;
    if (schema.endsWith(end)) continue;
    throw kcpRejection(
      type,
      object,
      formatFieldError(invalid(`spec.resources[${index}].schema`, schema, `must end in ${end}`)),
    );
  }
}

/** Matches the schema's own pattern of groups. For other values schema validation reports the error. */
const isGroupName = (group: string): boolean =>
  /^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$/.test(group);
