import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { HookContext } from "../definitions/definition.ts";
import { invalidObject } from "../machinery/api-errors.ts";
import { invalid } from "../machinery/field-error.ts";
import { recordAt, textsAt } from "../machinery/fields.ts";
import type { Attributes } from "../server/frontend.ts";
import type { User } from "../server/http.ts";
import type { Access } from "./access.ts";

type Review = (object: KubeObject, context: HookContext) => KubeObject;

/** The review types of Kubernetes (access reviews, token reviews, …), by plural. */
export function createReviews(access: Access): Readonly<Record<string, Review>> {
  const reviewAccess = (
    object: KubeObject,
    { logicalCluster }: HookContext,
    user: User,
    forceNamespace?: string,
  ): KubeObject => {
    const { allowed, reason } = access.decide(logicalCluster, user, readAttributes(object, forceNamespace));
    return withReviewStatus(object, { allowed, ...(reason === "" ? {} : { reason }) });
  };
  return {
    selfsubjectaccessreviews: (object, context) => reviewAccess(object, context, context.user),
    subjectaccessreviews: (object, context) => reviewAccess(object, context, readUser(object)),
    localsubjectaccessreviews: (object, context) => {
      const namespace = object.metadata.namespace ?? "";
      const requestedNamespace = textAt(object, "spec", "resourceAttributes", "namespace");
      if (requestedNamespace !== namespace) {
        const why = "must match metadata.namespace";
        throw invalidReview(object, "spec.resourceAttributes.namespace", requestedNamespace, why);
      }
      return reviewAccess(object, context, readUser(object), namespace);
    },
    selfsubjectrulesreviews: (object, { logicalCluster, user }) => {
      const rules = access.rules(logicalCluster, user, textAt(object, "spec", "namespace"));
      return withReviewStatus(object, {
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
    selfsubjectreviews: (object, { user }) => withReviewStatus(object, { userInfo: describeUser(user) }),
    tokenreviews: (object) => {
      const user = access.authenticateToken(textAt(object, "spec", "token"));
      if (user === undefined) return withReviewStatus(object, { user: {}, error: "invalid bearer token" });
      const audiences = textsAt(object, "spec", "audiences");
      return withReviewStatus(object, {
        authenticated: true,
        user: describeUser(user),
        audiences: audiences.length === 0 ? [access.serviceAccountTokens.issuer] : audiences,
      });
    },
  };
}

function describeUser({ name, uid, groups, extra }: User): { [field: string]: unknown } {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}

function withReviewStatus(object: KubeObject, status: { [field: string]: unknown }): KubeObject {
  const { apiVersion, kind, metadata, spec } = object;
  return { apiVersion, kind, metadata, ...(spec === undefined ? {} : { spec }), status };
}

function readAttributes(object: KubeObject, forceNamespace?: string): Attributes {
  const resource = valueAt(object, "spec", "resourceAttributes");
  const path = valueAt(object, "spec", "nonResourceAttributes");
  if (isRecord(resource) === isRecord(path)) {
    const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    throw invalidReview(object, "spec.resourceAttributes", resource ?? null, why);
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
    throw invalidReview(object, "spec.user", "", "at least one of user or group must be specified");
  }
  const uid = textAt(object, "spec", "uid");
  const extra = recordAt(object, "spec", "extra");
  return {
    name,
    groups,
    ...(uid === "" ? {} : { uid }),
    extra: Object.fromEntries(Object.keys(extra).map((key) => [key, textsAt(extra, key)])),
  };
}

function invalidReview(object: KubeObject, at: string, value: unknown, why: string) {
  const group = object.apiVersion.split("/")[0] ?? "";
  return invalidObject({ group, kind: object.kind }, object.metadata.name ?? "", [invalid(at, value, why)]);
}
