import { randomBytes } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";

export { eventually };

export const configMaps: ResourceType = { group: "", version: "v1", plural: "configmaps" };
export const secrets: ResourceType = { group: "", version: "v1", plural: "secrets" };
export const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
export const serviceAccounts: ResourceType = { group: "", version: "v1", plural: "serviceaccounts" };
export const events: ResourceType = { group: "", version: "v1", plural: "events" };
export const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
export const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
export const crds: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
export const rbac = (plural: string): ResourceType => ({ group: "rbac.authorization.k8s.io", version: "v1", plural });
export const reviews = (plural: string): ResourceType => ({ group: "authorization.k8s.io", version: "v1", plural });

/** A name no other case has. */
export const unique = (prefix: string): string => `${prefix}-${randomBytes(4).toString("hex")}`;

export type ConfigMap = KubeObject & { data?: Record<string, string> };

export const aConfigMap = (
  name: string,
  data: Record<string, string> = { a: "1" },
  metadata: object = {},
): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

export const aClusterRole = (name: string, rules: readonly object[]): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
});

/** Gives a service account the cluster role of the binding's name. */
export const aClusterRoleBinding = (
  name: string,
  account: Readonly<{ name: string; namespace: string }>,
): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
  subjects: [{ kind: "ServiceAccount", ...account }],
});

/** Makes a service account and asks for a token of it. */
export async function tokenOfNewAccount(client: KubeClient, namespace: string, name: string): Promise<string> {
  await client.create(
    { type: serviceAccounts, namespace },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
  );
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const { text, status } = await client.raw("POST", path, {
    body: JSON.stringify(request),
    contentType: "application/json",
  });
  expect(status).toBe(201);
  return JSON.parse(text).status.token;
}

/** The failure a call ends with; fails the test when the call succeeds. */
export async function failureOf(call: Promise<unknown>): Promise<ApiError> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!("error" in outcome)) throw new Error(`expected a failure, got ${JSON.stringify(outcome.value)}`);
  expect(outcome.error).toBeInstanceOf(ApiError);
  return outcome.error as ApiError;
}

/** Code, reason and the server's own words, as one value to compare. */
export async function refusal(
  call: Promise<unknown>,
): Promise<{ status: number | undefined; reason: string | undefined; message: string | undefined }> {
  const error = await failureOf(call);
  return { status: error.status, reason: error.body?.reason, message: error.body?.message };
}

/** Until the call no longer fails; the last failure is thrown at the time-out. */
export async function eventuallyOk<T>(call: () => Promise<T>, limitMs = 15_000): Promise<T> {
  let result: { value: T } | undefined;
  await eventually(async () => {
    try {
      result = { value: await call() };
      return undefined;
    } catch (error) {
      return String(error);
    }
  }, limitMs);
  if (result === undefined) throw new Error("unreachable: eventually returned without a result");
  return result.value;
}

/** Until a get answers 404. */
export async function eventuallyGone(
  client: KubeClient,
  address: Parameters<KubeClient["get"]>[0],
  limitMs = 15_000,
): Promise<void> {
  await eventually(async () => {
    try {
      const object = await client.get(address);
      return `${address.type.plural} ${address.name} is still there: ${JSON.stringify(object.metadata)}`;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }, limitMs);
}
