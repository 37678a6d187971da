import type { KubeObject } from "@tmc/kube/kube-object.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiFailure } from "../../src/machinery/api-errors.ts";
import { type ApplyRequest, conflictFailure, serverSideApply } from "../../src/machinery/apply.ts";
import { trackUpdate } from "../../src/machinery/managed-fields.ts";
import { deploymentSchema, thingSchema } from "./sample-schemas.ts";

type Step = Readonly<{ manager?: string; force?: boolean; subresource?: string; now?: string }>;

const deployment = (spec: object, metadata: object = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default", ...metadata },
  spec,
});
const thing = (spec: object, more: object = {}): KubeObject => ({
  apiVersion: "x.io/v1",
  kind: "Thing",
  metadata: { name: "t", namespace: "default" },
  spec,
  ...more,
});
const pod = (containers: object[]): object => ({ template: { spec: { containers } } });

function request(live: KubeObject | undefined, applied: KubeObject, step: Step): ApplyRequest {
  return {
    schema: applied.kind === "Thing" ? thingSchema : deploymentSchema,
    live,
    applied,
    manager: "m1",
    force: false,
    now: "2024-01-01T00:00:00Z",
    ...step,
  };
}

function apply(live: KubeObject | undefined, applied: KubeObject, step: Step = {}): KubeObject {
  const { object, conflicts } = serverSideApply(request(live, applied, step));
  if (object === undefined) throw conflictFailure(conflicts);
  return object;
}

function updated(old: KubeObject, object: KubeObject, step: Step = {}): KubeObject {
  const { schema, manager, now } = request(old, object, step);
  const managedFields = trackUpdate({ schema, old, object, manager, now, apiVersion: object.apiVersion, ...step });
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

const failure = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof ApiFailure ? [error.status.code, error.message] : error;
  }
};
const owned = (object: KubeObject, manager: string): unknown =>
  object.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;
const specOf = (object: KubeObject): Record<string, unknown> => Object(object.spec);

describe("server-side apply", () => {
  test("creates the applied object with fields owned by its applier", () => {
    const config = deployment(
      { replicas: 2, ...pod([{ name: "a", image: "a", ports: [{ containerPort: 80 }] }]) },
      { labels: { app: "x" } },
    );
    expect(apply(undefined, config)).toEqual({
      ...config,
      metadata: {
        ...config.metadata,
        managedFields: [
          {
            manager: "m1",
            operation: "Apply",
            apiVersion: "apps/v1",
            time: "2024-01-01T00:00:00Z",
            fieldsType: "FieldsV1",
            fieldsV1: {
              "f:metadata": { "f:labels": { "f:app": {} } },
              "f:spec": {
                "f:replicas": {},
                "f:template": {
                  "f:spec": {
                    "f:containers": {
                      'k:{"name":"a"}': {
                        ".": {},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
                      },
                    },
                  },
                },
              },
            },
          },
        ],
      },
    });
  });

  test("fields that are no longer applied are removed", () => {
    const live = apply(
      undefined,
      thing({ location: "a", tier: "x", map: [{ type: "a" }, { type: "b" }], set: ["x", "y"] }),
    );
    expect(specOf(apply(live, thing({ location: "a", map: [{ type: "b" }], set: ["y"] })))).toEqual({
      location: "a",
      map: [{ type: "b" }],
      set: ["y"],
    });
  });

  test("fields that another applier also owns are kept", () => {
    const first = apply(undefined, thing({ location: "a", tier: "x" }));
    const both = apply(first, thing({ tier: "x" }), { manager: "m2" });
    const after = apply(both, thing({ location: "a" }));
    expect(specOf(after)).toEqual({ location: "a", tier: "x" });
    expect(owned(after, "m2")).toEqual({ "f:spec": { "f:tier": {} } });
  });

  test("fields that the applier never owned are kept", () => {
    const first = apply(undefined, thing({ location: "a", any: { mine: 1 } }));
    const live = updated(first, thing({ location: "a", any: { mine: 1, theirs: 2 } }), { manager: "up" });
    expect(specOf(apply(live, thing({ location: "a" })))).toEqual({ location: "a", any: { theirs: 2 } });
  });

  test("the items of an associative list have their own owners, and keep the applied order", () => {
    const live = apply(
      undefined,
      deployment(
        pod([
          { name: "b", image: "b" },
          { name: "a", image: "a" },
        ]),
      ),
    );
    const both = apply(live, deployment(pod([{ name: "side", image: "s" }, { name: "a" }])), { manager: "m2" });
    expect(both.spec).toEqual(
      pod([
        { name: "b", image: "b" },
        { name: "side", image: "s" },
        { name: "a", image: "a" },
      ]),
    );
    const after = apply(both, deployment(pod([{ name: "b", image: "b" }])));
    expect(after.spec).toEqual(pod([{ name: "b", image: "b" }, { name: "side", image: "s" }, { name: "a" }]));
  });

  test("an omitted list key has its default value", () => {
    const live = apply(undefined, deployment(pod([{ name: "a", ports: [{ containerPort: 80, protocol: "TCP" }] }])));
    const after = apply(live, deployment(pod([{ name: "a", ports: [{ containerPort: 80, name: "http" }] }])), {
      manager: "m2",
    });
    expect(after.spec).toEqual(pod([{ name: "a", ports: [{ containerPort: 80, protocol: "TCP", name: "http" }] }]));
  });

  test("atomic lists and maps are replaced as a whole", () => {
    const live = apply(
      undefined,
      deployment({ selector: { matchLabels: { a: "b" } }, ...pod([{ name: "a", args: ["x"] }]) }),
    );
    const after = apply(
      live,
      deployment({ selector: { matchLabels: { c: "d" } }, ...pod([{ name: "a", args: ["y"] }]) }),
    );
    expect(after.spec).toEqual({ selector: { matchLabels: { c: "d" } }, ...pod([{ name: "a", args: ["y"] }]) });
    expect(owned(after, "m1")).toMatchObject({ "f:spec": { "f:selector": {} } });
  });

  describe("conflicts", () => {
    test("are reported with their owner and path", () => {
      const live = updated(apply(undefined, deployment({ replicas: 1 })), deployment({ replicas: 2 }), {
        manager: "kubectl",
      });
      expect(failure(() => apply(live, deployment({ replicas: 3 })))).toEqual([
        409,
        'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas',
      ]);
    });

    test("are listed by owner", () => {
      const first = apply(undefined, deployment({ replicas: 1, paused: true }, { labels: { l: "1" } }));
      const live = apply(first, deployment(pod([{ name: "a", image: "a:1" }])), { manager: "z" });
      const { conflicts } = serverSideApply(
        request(live, deployment({ replicas: 2, paused: false, ...pod([{ name: "a", image: "a:2" }]) }), {
          manager: "m2",
        }),
      );
      expect(conflicts?.message).toBe(
        'Apply failed with 3 conflicts: conflicts with "m1":\n- .spec.paused\n- .spec.replicas\nconflicts with "z":\n- .spec.template.spec.containers[name="a"].image',
      );
      expect(conflicts?.causes[0]).toEqual({
        reason: "FieldManagerConflict",
        message: 'conflict with "m1"',
        field: ".spec.paused",
      });
    });

    test("name the subresource of the other manager", () => {
      const live = apply(apply(undefined, thing({ location: "a" })), thing({}, { status: { n: 1 } }), {
        manager: "st",
        subresource: "status",
      });
      expect(
        failure(() => apply(live, thing({}, { status: { n: 2 } }), { manager: "m2", subresource: "status" })),
      ).toEqual([409, 'Apply failed with 1 conflict: conflict with "st" with subresource "status": .status.n']);
    });

    test("do not occur for equal values, which both managers then own", () => {
      const live = apply(undefined, deployment({ replicas: 1 }));
      const both = apply(live, deployment({ replicas: 1 }), { manager: "m2" });
      expect([owned(both, "m1"), owned(both, "m2")]).toEqual([
        { "f:spec": { "f:replicas": {} } },
        { "f:spec": { "f:replicas": {} } },
      ]);
    });

    test("are resolved by force, which moves the ownership", () => {
      const live = apply(undefined, deployment({ replicas: 1, paused: true }));
      const after = apply(live, deployment({ replicas: 2 }), { manager: "m2", force: true });
      expect(after.spec).toEqual({ replicas: 2, paused: true });
      expect([owned(after, "m1"), owned(after, "m2")]).toEqual([
        { "f:spec": { "f:paused": {} } },
        { "f:spec": { "f:replicas": {} } },
      ]);
    });

    test("do not occur for kubectl over fields of its client-side apply", () => {
      const annotation = "kubectl.kubernetes.io/last-applied-configuration";
      const config = deployment({ replicas: 1 });
      const written = deployment({ replicas: 1 }, { annotations: { [annotation]: JSON.stringify(config) } });
      const live = updated({ ...written, metadata: { name: "web" }, spec: {} }, written, {});
      const managed = {
        ...live,
        metadata: {
          ...live.metadata,
          managedFields: trackUpdate({
            schema: deploymentSchema,
            object: written,
            manager: "kubectl-client-side-apply",
            apiVersion: "apps/v1",
            now: "2024-01-01T00:00:00Z",
          }),
        },
      };
      const after = apply(managed, deployment({ replicas: 2 }), { manager: "kubectl" });
      expect(after.spec).toEqual({ replicas: 2 });
      expect(JSON.parse(after.metadata.annotations?.[annotation] ?? "")).toMatchObject({ spec: { replicas: 2 } });
      expect(failure(() => apply(managed, deployment({ replicas: 2 }), { manager: "other" }))).toEqual([
        409,
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
      ]);
    });
  });

  test("fields from before managed fields are owned by before-first-apply", () => {
    const live: KubeObject = thing({ location: "a", tier: "x" });
    const after = apply(live, thing({ location: "a" }));
    expect(owned(after, "before-first-apply")).toEqual({ "f:spec": { ".": {}, "f:location": {}, "f:tier": {} } });
    expect(failure(() => apply(live, thing({ location: "b" })))).toEqual([
      409,
      'Apply failed with 1 conflict: conflict with "before-first-apply" using x.io/v1: .spec.location',
    ]);
  });

  test("status is applied through its subresource, and owned there only", () => {
    const live = apply(undefined, thing({ location: "a" }));
    const conditions = [{ type: "Ready", status: "True" }];
    const after = apply(live, thing({ location: "z" }, { status: { conditions } }), {
      manager: "st",
      subresource: "status",
      force: true,
    });
    expect(owned(after, "st")).toEqual({
      "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:status": {}, "f:type": {} } } },
    });
    expect(owned(after, "m1")).toEqual({ "f:spec": { "f:location": {} } });
    expect(owned(apply(after, thing({ location: "a" }, { status: { n: 3 } })), "m1")).toEqual({
      "f:spec": { "f:location": {} },
    });
  });

  const refused: Record<string, { applied: KubeObject; code: number; message: string }> = {
    "managed fields": {
      applied: deployment({}, { managedFields: [] }),
      code: 400,
      message: "metadata.managedFields must be nil",
    },
    "a field that the type does not have": {
      applied: deployment({ nope: 1 }),
      code: 500,
      message:
        "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.nope: field not declared in schema",
    },
    "an item twice": {
      applied: deployment(pod([{ name: "a" }, { name: "a" }])),
      code: 500,
      message:
        'failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="a"]',
    },
  };
  test.each(Object.entries(refused))("%s cannot be applied", (_, { applied, code, message }) => {
    expect(failure(() => apply(undefined, applied))).toEqual([code, message]);
  });

  describe("laws", () => {
    const name = fc.constantFrom("a", "b", "c", "d");
    // No empty lists and maps: the server does not own an empty list, and leaves null for a map when the fields of
    // others in it are removed.
    const filled = { minKeys: 1 };
    const spec = fc.record(
      {
        location: fc.constantFrom("a", "b"),
        tier: fc.constantFrom("x", "y"),
        map: fc.uniqueArray(fc.record({ type: name, v: name }, { requiredKeys: ["type"] }), {
          selector: ({ type }) => type,
          minLength: 1,
        }),
        set: fc.uniqueArray(name, { minLength: 1 }),
        labels: fc.dictionary(name, name, filled),
        any: fc.dictionary(name, fc.oneof(name, fc.array(name), fc.dictionary(name, name, filled)), filled),
        list: fc.array(fc.record({ k: name })),
      },
      { requiredKeys: ["location"] },
    );

    test("applying a configuration twice changes nothing, not even a timestamp", () => {
      fc.assert(
        fc.property(fc.array(spec, { minLength: 1 }), spec, (before, last) => {
          let live: KubeObject | undefined;
          for (const [index, each] of before.entries()) {
            live = apply(live, thing(each), { manager: `m${index % 2}`, force: true });
          }
          const once = apply(live, thing(last), { force: true });
          expect(apply(once, thing(last), { now: "2030-01-01T00:00:00Z" })).toEqual(once);
        }),
      );
    });

    test("applied fields are present afterwards and owned by their applier", () => {
      fc.assert(
        fc.property(spec, spec, (theirs, mine) => {
          const live = apply(undefined, thing(theirs), { manager: "other" });
          const after = specOf(apply(live, thing(mine), { force: true }));
          for (const key of ["location", "tier"] as const)
            if (mine[key] !== undefined) expect(after[key]).toBe(mine[key]);
          if (mine.map !== undefined && mine.map.length > 0) {
            for (const item of mine.map) expect(after.map).toContainEqual(expect.objectContaining(item));
          }
        }),
      );
    });

    test("a field that its only manager no longer applies is removed", () => {
      fc.assert(
        fc.property(spec, (config) => {
          const live = apply(undefined, thing({ location: "a" }), { manager: "other" });
          const { location: _, ...mine } = config;
          const after = apply(apply(live, thing(mine)), thing({}));
          expect(specOf(after)).toEqual({ location: "a" });
          expect(owned(after, "m1")).toEqual({ "f:spec": {} });
        }),
      );
    });

    test("the live object and the configuration are not changed", () => {
      fc.assert(
        fc.property(spec, spec, (first, second) => {
          const live = apply(undefined, thing(first));
          const config = thing(second);
          const given = structuredClone([live, config]);
          apply(live, config);
          expect([live, config]).toEqual(given);
        }),
      );
    });
  });
});
