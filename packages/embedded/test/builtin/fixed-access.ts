import type { Access } from "../../src/auth/access.ts";
import { createServiceAccountTokens } from "../../src/auth/service-account-tokens.ts";
import { clusterDefinitions, commonDefinitions } from "../../src/builtin/definitions.ts";
import type { Catalog, HookContext, ResourceDefinition } from "../../src/definitions/definition.ts";
import type { Operations } from "../../src/storage/operations.ts";

/** Allows everything; no token is valid. */
export const openAccess: Access = {
  decide: () => ({ allowed: true, reason: "" }),
  rules: () => [],
  authenticateToken: () => undefined,
  serviceAccountTokens: createServiceAccountTokens(),
};

export const builtinDefinitions: readonly ResourceDefinition[] = [
  ...commonDefinitions(openAccess),
  ...clusterDefinitions(),
];

/** The first version of the built-in type of a kind; throws if there is none. */
export function definitionOf(kind: string, group?: string): ResourceDefinition {
  const found = builtinDefinitions.find((item) => item.kind === kind && (group === undefined || item.group === group));
  if (found === undefined) throw new Error(`no built-in kind ${kind}`);
  return found;
}

/** A catalog whose `find` is not used. */
export function aCatalog(definitions: readonly ResourceDefinition[]): Catalog {
  return { definitions: () => definitions, find: () => undefined };
}

/** A context for hooks that only need their object. */
export function aContext(overrides: Partial<HookContext> = {}): HookContext {
  const nothing = (): never => {
    throw new Error("this hook was not expected to use operations");
  };
  const operations: Operations = {
    get: nothing,
    list: nothing,
    create: nothing,
    update: nothing,
    patch: nothing,
    delete: nothing,
    deleteCollection: nothing,
    watch: nothing,
  };
  return {
    logicalCluster: "",
    user: { name: "alice", groups: [] },
    operations,
    now: Date.parse("2026-11-16T12:00:00Z"),
    ...overrides,
  };
}
