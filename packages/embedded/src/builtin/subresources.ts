import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Access } from "../auth/access.ts";
import type { HookContext, ResourceDefinition, Subresource } from "../definitions/definition.ts";
import { invalidObject } from "../machinery/api-errors.ts";
import { invalid } from "../machinery/field-error.ts";
import { numberOrZeroAt, recordsAt, textsAt } from "../machinery/fields.ts";
import type { ObjectTarget } from "../storage/operations.ts";

/** The server's own identity, for writes that a subresource does on behalf of an authorized user. */
export const serverUser = { name: "system:apiserver", groups: ["system:masters"] } as const;

type DefinitionOf = () => ResourceDefinition;

function targetOf(definition: DefinitionOf, parent: KubeObject, { logicalCluster }: HookContext): ObjectTarget {
  return {
    definition: definition(),
    logicalCluster,
    namespace: parent.metadata.namespace,
    name: parent.metadata.name ?? "",
  };
}

const timestamp = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, "Z");

/** `serviceaccounts/token`: issues a token immediately. */
export function tokenSubresource(access: Access): Subresource {
  return {
    kind: "TokenRequest",
    group: "authentication.k8s.io",
    version: "v1",
    verbs: ["create"],
    handle: ({ parent, body }, { logicalCluster, now }) => {
      const tokens = access.serviceAccountTokens;
      const { name = "", namespace = "", uid = "" } = parent.metadata;
      const requestedSeconds = numberOrZeroAt(body, "spec", "expirationSeconds");
      const expirationSeconds = requestedSeconds === 0 ? 3600 : requestedSeconds;
      if (expirationSeconds < 600) {
        const why = "may not specify a duration less than 10 minutes";
        const errors = [invalid("spec.expirationSeconds", expirationSeconds, why)];
        throw invalidObject({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", errors);
      }
      const requestedAudiences = textsAt(body, "spec", "audiences");
      const audiences = requestedAudiences.length === 0 ? [tokens.issuer] : requestedAudiences;
      const bound = valueAt(body, "spec", "boundObjectRef");
      const token = tokens.issue({ logicalCluster, namespace, name, uid }, { now, expirationSeconds, audiences });
      return {
        kind: "TokenRequest",
        apiVersion: "authentication.k8s.io/v1",
        metadata: { name, namespace, creationTimestamp: timestamp(now) },
        spec: { audiences, expirationSeconds, boundObjectRef: isRecord(bound) ? bound : null },
        status: { token, expirationTimestamp: timestamp(now + expirationSeconds * 1000) },
      };
    },
  };
}

/** `namespaces/finalize`: replaces the finalizers in a namespace's spec. */
export function finalizeSubresource(definition: DefinitionOf): Subresource {
  return {
    kind: "Namespace",
    verbs: ["update"],
    handle: ({ parent, body }, context) =>
      context.operations.update(
        targetOf(definition, parent, context),
        { ...parent, spec: { ...(isRecord(body?.spec) ? body.spec : {}) } },
        { user: serverUser, subresource: "finalize" },
      ),
  };
}

/** `certificatesigningrequests/approval`: replaces the conditions. */
export function approvalSubresource(definition: DefinitionOf): Subresource {
  return {
    kind: "CertificateSigningRequest",
    verbs: ["get", "patch", "update"],
    handle: ({ verb, parent, body }, context) => {
      if (verb === "get" || body === undefined) return parent;
      const status = {
        ...(isRecord(parent.status) ? parent.status : {}),
        conditions: recordsAt(body, "status", "conditions"),
      };
      return context.operations.update(
        targetOf(definition, parent, context),
        { ...parent, status },
        { user: context.user, subresource: "status" },
      );
    },
  };
}

/** `pods/eviction`: deletes the pod. Disruption budgets are not enforced. */
export function evictionSubresource(definition: DefinitionOf): Subresource {
  return {
    kind: "Eviction",
    group: "policy",
    version: "v1",
    verbs: ["create"],
    handle: ({ parent, body }, context) => {
      const grace = valueAt(body, "deleteOptions", "gracePeriodSeconds");
      context.operations.delete(
        targetOf(definition, parent, context),
        typeof grace === "number" ? { gracePeriodSeconds: grace } : {},
        { user: context.user },
      );
      return success();
    },
  };
}

/** `pods/binding`: assigns a pod to a node. */
export function bindingSubresource(definition: DefinitionOf): Subresource {
  return {
    kind: "Binding",
    verbs: ["create"],
    handle: ({ parent, body }, context) => {
      const target = targetOf(definition, parent, context);
      const spec = { ...(isRecord(parent.spec) ? parent.spec : {}), nodeName: textAt(body, "target", "name") };
      const bound = context.operations.update(target, { ...parent, spec }, { user: serverUser });
      const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: timestamp(context.now) };
      const others = recordsAt(bound, "status", "conditions").filter(({ type }) => type !== "PodScheduled");
      const status = { ...(isRecord(bound.status) ? bound.status : {}), conditions: [...others, scheduled] };
      context.operations.update(target, { ...bound, status }, { user: serverUser, subresource: "status" });
      return success(201);
    },
  };
}

/** `pods/log`. */
export function logSubresource(readLog: (pod: KubeObject) => string): Subresource {
  return { kind: "Pod", verbs: ["get"], handle: ({ parent }) => readLog(parent) };
}

function success(code?: number): KubeObject {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    ...(code === undefined ? {} : { code }),
  };
}
