import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { invalidObject } from "../api-errors.ts";
import type { HookContext } from "../definition.ts";
import { isFields, objectAt, textAt, textsAt, valueAt } from "../fields.ts";
import type { Attributes } from "../frontend.ts";
import type { User } from "../http.ts";
import { invalid } from "../machinery/field-error.ts";
import type { Access } from "./access.ts";

type Review = (object: KubeObject, context: HookContext) => KubeObject;

/** The questions that Kubernetes answers about users and their rights, by the plural under which they are asked. */
export function createReviews(access: Access): Readonly<Record<string, Review>> {
  const decided = (object: KubeObject, { cluster }: HookContext, user: User, forceNamespace?: string): KubeObject => {
    const { allowed, reason } = access.decide(cluster, user, readAttributes(object, forceNamespace));
    return answered(object, { allowed, ...(reason === "" ? {} : { reason }) });
  };
  return {
    selfsubjectaccessreviews: (object, context) => decided(object, context, context.user),
    subjectaccessreviews: (object, context) => decided(object, context, readUser(object)),
    localsubjectaccessreviews: (object, context) => {
      const namespace = object.metadata.namespace ?? "";
      const asked = textAt(object, "spec", "resourceAttributes", "namespace");
      if (asked !== namespace) {
        const why = "must match metadata.namespace";
        throw refused(object, "spec.resourceAttributes.namespace", asked, why);
      }
      return decided(object, context, readUser(object), namespace);
    },
    selfsubjectrulesreviews: (object, { cluster, user }) => {
      const rules = access.rules(cluster, user, textAt(object, "spec", "namespace"));
      return answered(object, {
        resourceRules: rules
          .filter(({ nonResourceURLs }) => nonResourceURLs.length === 0)
          .map(({ verbs, apiGroups, resources, resourceNames }) => ({
            verbs: [...verbs],
            apiGroups: [...apiGroups],
            resources: [...resources],
            ...(resourceNames.length === 0 ? {} : { resourceNames: [...resourceNames] }),
          })),
        nonResourceRules: rules
          .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
          .map(({ verbs, nonResourceURLs }) => ({ verbs: [...verbs], nonResourceURLs: [...nonResourceURLs] })),
        incomplete: false,
      });
    },
    selfsubjectreviews: (object, { user }) => answered(object, { userInfo: describeUser(user) }),
    tokenreviews: (object) => {
      const user = access.authenticateToken(textAt(object, "spec", "token"));
      if (user === undefined) return answered(object, { user: {}, error: "invalid bearer token" });
      const audiences = textsAt(object, "spec", "audiences");
      return answered(object, {
        authenticated: true,
        user: describeUser(user),
        audiences: audiences.length === 0 ? [access.serviceAccountTokens.issuer] : audiences,
      });
    },
  };
}

/** A user as reviews show it. */
export function describeUser({ name, uid, groups, extra }: User): { [field: string]: unknown } {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}

function answered(object: KubeObject, status: { [field: string]: unknown }): KubeObject {
  const { apiVersion, kind, metadata, spec } = object;
  return { apiVersion, kind, metadata, ...(spec === undefined ? {} : { spec }), status };
}

function readAttributes(object: KubeObject, forceNamespace?: string): Attributes {
  const resource = valueAt(object, "spec", "resourceAttributes");
  const path = valueAt(object, "spec", "nonResourceAttributes");
  if (isFields(resource) === isFields(path)) {
    const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    throw refused(object, "spec.resourceAttributes", resource ?? null, why);
  }
  return {
    verb: textAt(resource ?? path, "verb"),
    group: textAt(resource, "group"),
    version: textAt(resource, "version"),
    resource: textAt(resource, "resource"),
    subresource: textAt(resource, "subresource"),
    namespace: forceNamespace ?? textAt(resource, "namespace"),
    name: textAt(resource, "name"),
    path: textAt(path, "path"),
  };
}

function readUser(object: KubeObject): User {
  const name = textAt(object, "spec", "user");
  const groups = textsAt(object, "spec", "groups");
  if (name === "" && groups.length === 0) {
    throw refused(object, "spec.user", "", "at least one of user or group must be specified");
  }
  const uid = textAt(object, "spec", "uid");
  const extra = objectAt(object, "spec", "extra");
  return {
    name,
    groups,
    ...(uid === "" ? {} : { uid }),
    extra: Object.fromEntries(Object.keys(extra).map((key) => [key, textsAt(extra, key)])),
  };
}

function refused(object: KubeObject, at: string, value: unknown, why: string) {
  const group = object.apiVersion.split("/")[0] ?? "";
  return invalidObject({ group, kind: object.kind }, object.metadata.name ?? "", [invalid(at, value, why)]);
}
