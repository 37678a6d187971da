import { describe, expect, it } from "vitest";
import type { TypeDefinition } from "../../../../lib/api/workload-kinds.ts";
import {
  type DefinitionAction,
  decideDefinition,
  definitionHash,
  definitionManifest,
  type ObservedDefinition,
} from "../../../../lib/sync/targets/type-definition.ts";

const spec = {
  group: "example.com",
  scope: "Namespaced",
  names: { plural: "databases", kind: "Database" },
  versions: [{ name: "v1", served: true, storage: true }],
};
const aDefinition = (change: Partial<TypeDefinition> = {}): TypeDefinition => ({
  name: "databases.example.com",
  version: "v1",
  kind: "Database",
  spec,
  fingerprint: definitionHash(spec),
  ...change,
});
const desiredDefinition = aDefinition();
const established = { conditions: [{ type: "Established", status: "True" }] };

/** A definition that TMC has written. */
const ours = (definition: TypeDefinition, change: object = {}): ObservedDefinition => ({
  ...definitionManifest(definition, "kcp"),
  status: established,
  ...change,
});
const foreign = (change: object = {}): ObservedDefinition => ({ metadata: {}, spec, status: established, ...change });

const cases: Record<
  string,
  { found: ObservedDefinition | undefined; desired?: TypeDefinition; act: DefinitionAction["action"] }
> = {
  "applies a missing definition": { found: undefined, act: "apply" },
  "uses our definition once it is established": { found: ours(desiredDefinition), act: "use" },
  "waits until our definition is established": { found: ours(desiredDefinition, { status: {} }), act: "wait" },
  "waits while a definition is being deleted": {
    found: ours(desiredDefinition, { metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" } }),
    act: "wait",
  },
  "updates our definition if it differs": {
    found: ours(aDefinition({ fingerprint: "older" })),
    act: "apply",
  },
  "updates our definition if it is older": {
    found: ours(aDefinition({ fingerprint: "older", madeAt: "2030-01-01T00:00:00Z" })),
    desired: aDefinition({ madeAt: "2030-02-01T00:00:00Z" }),
    act: "apply",
  },
  "keeps our definition if it is newer": {
    found: ours(aDefinition({ fingerprint: "newer", madeAt: "2030-03-01T00:00:00Z" })),
    desired: aDefinition({ madeAt: "2030-02-01T00:00:00Z" }),
    act: "use",
  },
  "does not update the definition of another control plane": {
    found: { ...definitionManifest(aDefinition({ fingerprint: "other" }), "another"), status: established },
    act: "use",
  },
  "uses a foreign definition that serves the version": { found: foreign(), act: "use" },
  "waits until a foreign definition is established": { found: foreign({ status: {} }), act: "wait" },
  "rejects a foreign definition that serves only another version": {
    found: foreign({ spec: { ...spec, versions: [{ name: "v2", served: true }] } }),
    act: "reject",
  },
  "rejects a foreign definition that no longer serves the version": {
    found: foreign({ spec: { ...spec, versions: [{ name: "v1", served: false }] } }),
    act: "reject",
  },
  "rejects a foreign definition that is not namespaced": {
    found: foreign({ spec: { ...spec, scope: "Cluster" } }),
    act: "reject",
  },
  "rejects a foreign definition of another kind": {
    found: foreign({ spec: { ...spec, names: { kind: "Data" } } }),
    act: "reject",
  },
};

describe("decideDefinition", () => {
  it.each(Object.entries(cases))("%s", (_, { found, desired = desiredDefinition, act }) => {
    expect(decideDefinition({ desired: desired, hub: "kcp" }, found).action).toBe(act);
  });

  it("definitionHash does not depend on the order of fields", () => {
    const { group, ...rest } = spec;
    expect(definitionHash({ ...rest, group })).toBe(definitionHash(spec));
    expect(definitionHash({ ...spec, group: "example.org" })).not.toBe(definitionHash(spec));
  });
});
