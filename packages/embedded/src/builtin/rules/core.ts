import { isDeepStrictEqual } from "node:util";
import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "../../machinery/api-errors.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { forbidden, invalid, required } from "../../machinery/field-error.ts";
import { ensureObject, listAt, recordAt, recordsAt, setDefault, textsAt } from "../../machinery/fields.ts";
import { supportedValueErrors } from "./pod-template.ts";
import type { BuiltinRules } from "./rules.ts";

const keyMessage =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

function keyErrors(object: KubeObject, name: string): FieldError[] {
  return Object.keys(recordAt(object, name))
    .filter((key) => !/^[-._a-zA-Z0-9]+$/.test(key))
    .map((key) => invalid(`${name}[${key}]`, key, keyMessage));
}

/** An object with `immutable: true` cannot change and cannot become mutable again. */
function immutableErrors(object: KubeObject, old: KubeObject, names: readonly string[]): FieldError[] {
  if (old.immutable !== true) return [];
  const why = "field is immutable when `immutable` is set";
  if (object.immutable !== true) return [forbidden("immutable", why)];
  return names
    .filter((name) => !isDeepStrictEqual(recordAt(object, name), recordAt(old, name)))
    .map((name) => forbidden(name, why));
}

export const configMapRules: BuiltinRules = {
  validate: (object) => [...keyErrors(object, "data"), ...keyErrors(object, "binaryData")],
  validateChange: (object, old) => immutableErrors(object, old, ["data", "binaryData"]),
};

/** Data keys that a secret of a type requires. */
const keysOfSecretType: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
};

export const secretRules: BuiltinRules = {
  setDefaults: (secret) => {
    setDefault(secret, "type", "Opaque");
    const plain = secret.stringData;
    if (isRecord(plain)) {
      const data = ensureObject(secret, "data");
      for (const [key, value] of Object.entries(plain)) data[key] = Buffer.from(String(value)).toString("base64");
    }
    // stringData is write-only.
    delete secret.stringData;
    for (const value of Object.values(recordAt(secret, "data"))) checkBase64(value);
  },
  validate: (secret) => [
    ...keyErrors(secret, "data"),
    ...(keysOfSecretType[textAt(secret, "type")] ?? [])
      .filter((key) => valueAt(secret, "data", key) === undefined)
      .map((key) => required(`data[${key}]`)),
  ],
  validateChange: (secret, old) => [
    ...(secret.type === old.type ? [] : [invalid("type", secret.type, "field is immutable")]),
    ...immutableErrors(secret, old, ["data"]),
  ],
};

function checkBase64(value: unknown): void {
  if (typeof value !== "string") return;
  const bad = /[^A-Za-z0-9+/=\r\n]/.exec(value);
  if (bad === null && value.replaceAll(/[\r\n]/g, "").length % 4 === 0) return;
  const at = bad?.index ?? Math.trunc(value.length / 4) * 4;
  const message = `Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte ${at}`;
  throw new ApiFailure(400, "BadRequest", message);
}

export const claimRules: BuiltinRules = {
  setDefaults: (claim) => setDefault(ensureObject(claim, "spec"), "volumeMode", "Filesystem"),
  initialize: (claim) => {
    claim.metadata.finalizers = [...new Set([...(claim.metadata.finalizers ?? []), "kubernetes.io/pvc-protection"])];
    setDefault(ensureObject(claim, "status"), "phase", "Pending");
  },
  validate: (claim) => [
    ...(textsAt(claim, "spec", "accessModes").length > 0
      ? []
      : [required("spec.accessModes", "at least 1 access mode is required")]),
    ...(valueAt(claim, "spec", "resources", "requests", "storage") === undefined
      ? [required("spec.resources[storage]")]
      : []),
  ],
};

export const volumeRules: BuiltinRules = {
  setDefaults: (volume) => {
    const spec = ensureObject(volume, "spec");
    setDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
    setDefault(spec, "volumeMode", "Filesystem");
    if (isRecord(spec.hostPath)) setDefault(spec.hostPath, "type", "");
  },
  initialize: (volume, { now }) => {
    volume.metadata.finalizers = [...new Set([...(volume.metadata.finalizers ?? []), "kubernetes.io/pv-protection"])];
    const status = ensureObject(volume, "status");
    setDefault(status, "phase", "Pending");
    setDefault(status, "lastPhaseTransitionTime", new Date(now).toISOString().replace(/\.\d+Z$/, "Z"));
  },
};

export const limitRangeRules: BuiltinRules = {
  setDefaults: (range) => {
    for (const limit of recordsAt(range, "spec", "limits")) {
      if (limit.type !== "Container") continue;
      const maximum = recordAt(limit, "max");
      if (Object.keys(maximum).length > 0) {
        const defaults = ensureObject(limit, "default");
        for (const [resource, amount] of Object.entries(maximum)) setDefault(defaults, resource, amount);
      }
      const sources = { ...recordAt(limit, "default"), ...recordAt(limit, "min") };
      if (Object.keys(sources).length === 0) continue;
      const requests = ensureObject(limit, "defaultRequest");
      for (const [resource, amount] of Object.entries(sources)) setDefault(requests, resource, amount);
    }
  },
};

export const eventRules: BuiltinRules = {
  validate: (event) => {
    const regarding = textAt(event, "involvedObject", "namespace");
    const own = event.metadata.namespace ?? "";
    // Events about cluster-scoped objects are in the namespace "default".
    const expected = regarding === "" ? "default" : regarding;
    if (own === expected || (regarding === "" && own === "kube-system")) return [];
    return [invalid("involvedObject.namespace", regarding, "does not match event.namespace")];
  },
};

export const newEventRules: BuiltinRules = {
  validate: (event) => [
    ...(textAt(event, "eventTime") === "" ? [required("eventTime")] : []),
    ...(["Normal", "Warning"].includes(textAt(event, "type"))
      ? []
      : [invalid("type", textAt(event, "type"), `has invalid value: ${textAt(event, "type")}`)]),
  ],
};

const rbacGroup = "rbac.authorization.k8s.io";

/** Rules of Role and ClusterRole. A namespaced role cannot have non-resource URLs. */
export function roleRules(isNamespaced: boolean): BuiltinRules {
  return {
    setDefaults: (role) => {
      if (role.rules === undefined) role.rules = [];
    },
    validate: (role) =>
      recordsAt(role, "rules").flatMap((rule, index) => {
        const at = `rules[${index}]`;
        const errors: FieldError[] = [];
        if (listAt(rule, "verbs").length === 0) {
          errors.push(required(`${at}.verbs`, "verbs must contain at least one value"));
        }
        if (listAt(rule, "nonResourceURLs").length > 0) {
          if (isNamespaced) {
            const why = "namespaced rules cannot apply to non-resource URLs";
            errors.push(invalid(`${at}.nonResourceURLs`, listAt(rule, "nonResourceURLs"), why));
          }
          return errors;
        }
        if (listAt(rule, "apiGroups").length === 0) {
          errors.push(required(`${at}.apiGroups`, "resource rules must supply at least one api group"));
        }
        if (listAt(rule, "resources").length === 0) {
          errors.push(required(`${at}.resources`, "resource rules must supply at least one resource"));
        }
        return errors;
      }),
  };
}

/** Rules of RoleBinding and ClusterRoleBinding. roleRef is immutable. */
export function roleBindingRules(kinds: readonly string[]): BuiltinRules {
  return {
    setDefaults: (binding) => {
      setDefault(ensureObject(binding, "roleRef"), "apiGroup", rbacGroup);
      for (const subject of recordsAt(binding, "subjects")) {
        if (subject.kind === "User" || subject.kind === "Group") setDefault(subject, "apiGroup", rbacGroup);
      }
    },
    validate: (binding) => [
      ...supportedValueErrors("roleRef.kind", textAt(binding, "roleRef", "kind"), kinds),
      ...(textAt(binding, "roleRef", "name") === "" ? [required("roleRef.name")] : []),
      ...recordsAt(binding, "subjects").flatMap((subject, index) => [
        ...(textAt(subject, "name") === "" ? [required(`subjects[${index}].name`)] : []),
        ...supportedValueErrors(`subjects[${index}].kind`, textAt(subject, "kind"), [
          "ServiceAccount",
          "User",
          "Group",
        ]),
        ...(subject.kind === "ServiceAccount" && textAt(subject, "namespace") === ""
          ? [required(`subjects[${index}].namespace`)]
          : []),
      ]),
    ],
    validateChange: (binding, old) => {
      if (isDeepStrictEqual(binding.roleRef, old.roleRef)) return [];
      const { apiGroup, kind, name } = recordAt(binding, "roleRef");
      return [invalid("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, "cannot change roleRef")];
    },
  };
}
