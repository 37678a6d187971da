import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { invalidObject } from "../api-errors.ts";
import type { Access } from "../auth/access.ts";
import type { HookContext, ResourceDefinition, Subresource } from "../definition.ts";
import { isFields, numberAt, objectsAt, textAt, textsAt, valueAt } from "../fields.ts";
import { invalid } from "../machinery/field-error.ts";
import type { ObjectTarget } from "../operations.ts";

/** The server's own identity, for what a subresource does on behalf of a user who may. */
export const serverUser = { name: "system:apiserver", groups: ["system:masters"] } as const;

type DefinitionOf = () => ResourceDefinition;

function targetOf(definition: DefinitionOf, parent: KubeObject, { cluster }: HookContext): ObjectTarget {
  return {
    definition: definition(),
    cluster,
    namespace: parent.metadata.namespace,
    name: parent.metadata.name ?? "",
  };
}

const timestamp = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, "Z");

/** A request for a service account's token is answered at once. */
export function tokenSubresource(access: Access): Subresource {
  return {
    kind: "TokenRequest",
    group: "authentication.k8s.io",
    version: "v1",
    verbs: ["create"],
    handle: ({ parent, body }, { cluster, now }) => {
      const tokens = access.serviceAccountTokens;
      const { name = "", namespace = "", uid = "" } = parent.metadata;
      const asked = numberAt(body, "spec", "expirationSeconds");
      const expirationSeconds = asked === 0 ? 3600 : asked;
      if (expirationSeconds < 600) {
        const why = "may not specify a duration less than 10 minutes";
        const errors = [invalid("spec.expirationSeconds", expirationSeconds, why)];
        throw invalidObject({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", errors);
      }
      const given = textsAt(body, "spec", "audiences");
      const audiences = given.length === 0 ? [tokens.issuer] : given;
      const bound = valueAt(body, "spec", "boundObjectRef");
      const token = tokens.issue({ cluster, namespace, name, uid }, { now, expirationSeconds, audiences });
      return {
        kind: "TokenRequest",
        apiVersion: "authentication.k8s.io/v1",
        metadata: { name, namespace, creationTimestamp: timestamp(now) },
        spec: { audiences, expirationSeconds, boundObjectRef: isFields(bound) ? bound : null },
        status: { token, expirationTimestamp: timestamp(now + expirationSeconds * 1000) },
      };
    },
  };
}

/** The last word on a namespace's finalizers. */
export function finalizeSubresource(definition: DefinitionOf): Subresource {
  return {
    kind: "Namespace",
    verbs: ["update"],
    handle: ({ parent, body }, context) =>
      context.operations.update(
        targetOf(definition, parent, context),
        { ...parent, spec: { ...(isFields(body?.spec) ? body.spec : {}) } },
        { user: serverUser, subresource: "finalize" },
      ),
  };
}

/** A certificate request is approved or denied by its conditions alone. */
export function approvalSubresource(definition: DefinitionOf): Subresource {
  return {
    kind: "CertificateSigningRequest",
    verbs: ["get", "patch", "update"],
    handle: ({ verb, parent, body }, context) => {
      if (verb === "get" || body === undefined) return parent;
      const status = {
        ...(isFields(parent.status) ? parent.status : {}),
        conditions: objectsAt(body, "status", "conditions"),
      };
      return context.operations.update(
        targetOf(definition, parent, context),
        { ...parent, status },
        { user: context.user, subresource: "status" },
      );
    },
  };
}

/** An eviction is a deletion: no disruption budget stands in its way here. */
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

/** A scheduler's decision: the pod goes to the node. */
export function bindingSubresource(definition: DefinitionOf): Subresource {
  return {
    kind: "Binding",
    verbs: ["create"],
    handle: ({ parent, body }, context) => {
      const target = targetOf(definition, parent, context);
      const spec = { ...(isFields(parent.spec) ? parent.spec : {}), nodeName: textAt(body, "target", "name") };
      const bound = context.operations.update(target, { ...parent, spec }, { user: serverUser });
      const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: timestamp(context.now) };
      const others = objectsAt(bound, "status", "conditions").filter(({ type }) => type !== "PodScheduled");
      const status = { ...(isFields(bound.status) ? bound.status : {}), conditions: [...others, scheduled] };
      context.operations.update(target, { ...bound, status }, { user: serverUser, subresource: "status" });
      return success(201);
    },
  };
}

/** What a pod has written; the cluster's workload engine knows. */
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
