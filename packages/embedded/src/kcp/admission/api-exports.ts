import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceHooks } from "../../definition.ts";
import { listAt, textAt } from "../../fields.ts";
import { invalid } from "../../machinery/field-error.ts";
import { isBuiltinClaim } from "../claimable-types.ts";
import { exportClaims } from "../claims.ts";
import { exportToStored } from "../conversion.ts";
import { formatFieldError, refusal } from "./refusal.ts";

const type = { group: "apis.kcp.io", plural: "apiexports" };

/** The rules of APIExports: claims on others' types need an identity, and schemas must be named for what they describe. */
export const apiExportHooks: ResourceHooks = { prepareCreate: check, prepareUpdate: check };

function check(object: KubeObject): void {
  const stored = object.apiVersion.endsWith("/v1alpha1") ? exportToStored(object) : object;
  for (const [index, { group, resource, identityHash }] of exportClaims(stored).entries()) {
    if (identityHash === "" && group !== "apis.kcp.io" && !isBuiltinClaim(group, resource) && isGroupName(group)) {
      const why = "identityHash is required for API types that are not built-in";
      throw refusal(type, object, formatFieldError(invalid(`spec.permissionClaims[${index}].identityHash`, "", why)));
    }
  }
  for (const [index, resource] of listAt(stored, "spec", "resources").entries()) {
    const schema = textAt(resource, "schema");
    const end = `.${textAt(resource, "name")}.${textAt(resource, "group") || "core"}`;
    if (schema.endsWith(end)) continue;
    throw refusal(
      type,
      object,
      formatFieldError(invalid(`spec.resources[${index}].schema`, schema, `must end in ${end}`)),
    );
  }
}

/** What the schema's own pattern takes as a group; where it does not, the schema has the first word. */
const isGroupName = (group: string): boolean =>
  /^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$/.test(group);
