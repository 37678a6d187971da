import { describe, expect, it } from "vitest";
import type { TypeDefinition } from "../../../../lib/api/workload-kinds.ts";
import {
  type DefinitionAct,
  decideDefinition,
  definitionManifest,
  type FoundDefinition,
  fingerprintOfDefinition,
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
  fingerprint: fingerprintOfDefinition(spec),
  ...change,
});
const wanted = aDefinition();
const established = { conditions: [{ type: "Established", status: "True" }] };

/** A definition that TMC has written. */
const ours = (definition: TypeDefinition, change: object = {}): FoundDefinition => ({
  ...definitionManifest(definition, "kcp"),
  status: established,
  ...change,
});
const foreign = (change: object = {}): FoundDefinition => ({ metadata: {}, spec, status: established, ...change });

const cases: Record<string, { found: FoundDefinition | undefined; wants?: TypeDefinition; act: DefinitionAct["do"] }> =
  {
    "is written where there is none": { found: undefined, act: "apply" },
    "is used when it is ours and established": { found: ours(wanted), act: "use" },
    "is waited for until it is established": { found: ours(wanted, { status: {} }), act: "wait" },
    "is waited for while somebody removes it": {
      found: ours(wanted, { metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" } }),
      act: "wait",
    },
    "is brought up to date when it is ours and says something else": {
      found: ours(aDefinition({ fingerprint: "older" })),
      act: "apply",
    },
    "is brought up to date when it is ours and older": {
      found: ours(aDefinition({ fingerprint: "older", madeAt: "2030-01-01T00:00:00Z" })),
      wants: aDefinition({ madeAt: "2030-02-01T00:00:00Z" }),
      act: "apply",
    },
    "is left as it is when it is ours and newer": {
      found: ours(aDefinition({ fingerprint: "newer", madeAt: "2030-03-01T00:00:00Z" })),
      wants: aDefinition({ madeAt: "2030-02-01T00:00:00Z" }),
      act: "use",
    },
    "is no other hub's to change": {
      found: { ...definitionManifest(aDefinition({ fingerprint: "other" }), "another"), status: established },
      act: "use",
    },
    "is used when it is somebody else's and serves the version": { found: foreign(), act: "use" },
    "is waited for when it is somebody else's and not established": { found: foreign({ status: {} }), act: "wait" },
    "is refused when it is somebody else's and serves another version": {
      found: foreign({ spec: { ...spec, versions: [{ name: "v2", served: true }] } }),
      act: "refuse",
    },
    "is refused when it is somebody else's and does not serve the version any more": {
      found: foreign({ spec: { ...spec, versions: [{ name: "v1", served: false }] } }),
      act: "refuse",
    },
    "is refused when it is somebody else's and has no namespaces": {
      found: foreign({ spec: { ...spec, scope: "Cluster" } }),
      act: "refuse",
    },
    "is refused when it is somebody else's and of another kind": {
      found: foreign({ spec: { ...spec, names: { kind: "Data" } } }),
      act: "refuse",
    },
  };

describe("the definition of a type on a cluster", () => {
  it.each(Object.entries(cases))("%s", (_, { found, wants = wanted, act }) => {
    expect(decideDefinition({ wanted: wants, hub: "kcp" }, found).do).toBe(act);
  });

  it("says the same in whatever order its fields stand", () => {
    const { group, ...rest } = spec;
    expect(fingerprintOfDefinition({ ...rest, group })).toBe(fingerprintOfDefinition(spec));
    expect(fingerprintOfDefinition({ ...spec, group: "example.org" })).not.toBe(fingerprintOfDefinition(spec));
  });
});
