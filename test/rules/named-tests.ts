import type { NamedTest } from "./rule.ts";

/** Test files that several rules name. */
export const tests = {
  sync: "test/lib/sync/reconcile.test.ts",
  deletionGuard: "test/lib/sync/reconcile-deletion-guard.test.ts",
  syncMoves: "test/lib/sync/reconcile-moves.test.ts",
  references: "test/lib/sync/reconcile-references.test.ts",
  copies: "test/lib/sync/targets/decide.test.ts",
  upsyncOrigin: "test/lib/sync/status/upsync-origin-status.test.ts",
  moves: "test/lib/controller/moves.test.ts",
  ownership: "test/lib/controller/ownership.test.ts",
  hubs: "test/lib/controller/two-hubs.test.ts",
  identities: "test/lib/upstream/hub-identity.test.ts",
  controls: "test/lib/controller/user-controls.test.ts",
  upsyncController: "test/lib/controller/upsync.test.ts",
  downstream: "test/lib/downstream/client.faults.test.ts",
  upsync: "test/lib/upsync/reconcile.test.ts",
  upsyncDecision: "test/lib/upsync/decide.test.ts",
  identity: "test/lib/controller/cluster-identity.test.ts",
  identityDecision: "test/lib/registration/identity.test.ts",
} as const;

/** A test by the titles around it. */
export const titled = (file: keyof typeof tests, ...titles: readonly string[]): NamedTest => ({
  file: tests[file],
  titles,
});
