import type { Access } from "../../src/auth/access.ts";
import { createServiceAccountTokens } from "../../src/auth/service-account-tokens.ts";
import { clusterDefinitions, commonDefinitions } from "../../src/builtin/definitions.ts";
import type { Catalog, HookContext, ResourceDefinition } from "../../src/definition.ts";
import type { Operations } from "../../src/operations.ts";

/** Everyone may do everything, and nobody has a token. */
export const openAccess: Access = {
  decide: () => ({ allowed: true, reason: "" }),
  rules: () => [],
  authenticateToken: () => undefined,
  serviceAccountTokens: createServiceAccountTokens(),
};

/** Every built-in type of a cluster. */
export const builtinDefinitions: readonly ResourceDefinition[] = [
  ...commonDefinitions(openAccess),
  ...clusterDefinitions(),
];

/** The one built-in type of that kind, in its first version; throws where there is none. */
export function definitionOf(kind: string, group?: string): ResourceDefinition {
  const found = builtinDefinitions.find((item) => item.kind === kind && (group === undefined || item.group === group));
  if (found === undefined) throw new Error(`no built-in kind ${kind}`);
  return found;
}

/** A catalog that shows these types, to those who ask for all of them. */
export function aCatalog(definitions: readonly ResourceDefinition[]): Catalog {
  return { definitions: () => definitions, find: () => undefined };
}

/** For hooks that do not look further than their object. */
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
    cluster: "",
    user: { name: "alice", groups: [] },
    operations,
    now: Date.parse("2026-11-16T12:00:00Z"),
    ...overrides,
  };
}
