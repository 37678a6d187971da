import { ControllerError } from "@tmc/kube/fault.ts";
import { describe, expect, test } from "vitest";
import { apiVersionOf } from "../../../lib/api/kind.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { governing, type Selectable, selectsWorkload } from "../../../lib/sync/selection.ts";

type Selector = WorkloadPlacement["spec"]["workloadSelector"];

const web: Selectable = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  labels: { app: "web", tier: "front" },
  namespace: "shop",
  namespaceLabels: { team: "sales" },
};
const deployments = [{ apiVersion: "apps/v1", kind: "Deployment" }];

const choices: Readonly<Record<string, readonly [selector: Selector, workload: Selectable, isSelected: boolean]>> = {
  "no selector selects nothing": [undefined, web, false],
  "an empty selector selects every type that is offered": [{}, web, true],
  "labels must match": [{ labelSelector: { matchLabels: { app: "web" } } }, web, true],
  "labels that differ do not": [{ labelSelector: { matchLabels: { app: "db" } } }, web, false],
  "all labels must match": [{ labelSelector: { matchLabels: { app: "web", tier: "back" } } }, web, false],
  "expressions count too": [
    { labelSelector: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["back"] }] } },
    web,
    true,
  ],
  "a selector of labels that asks for none selects all": [{ labelSelector: {} }, web, true],
  "a workload without labels is found by what it has not": [
    { labelSelector: { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] } },
    { ...web, labels: undefined },
    true,
  ],
  "the type must be named": [{ workloadTypes: deployments }, web, true],
  "another type is not": [{ workloadTypes: deployments }, { ...web, kind: "StatefulSet" }, false],
  "the same kind of another group is another type": [
    { workloadTypes: deployments },
    { ...web, apiVersion: "example.com/v1" },
    false,
  ],
  "an empty list of types names none": [{ workloadTypes: [] }, web, false],
  "a type that an operator added is offered like any other": [
    {},
    { ...web, apiVersion: "example.com/v1", kind: "Database" },
    true,
  ],
  "a ConfigMap only comes along": [{}, { ...web, apiVersion: "v1", kind: "ConfigMap" }, false],
  "a Secret only comes along": [{}, { ...web, apiVersion: "v1", kind: "Secret" }, false],
  "a ServiceAccount only comes along": [{}, { ...web, apiVersion: "v1", kind: "ServiceAccount" }, false],
  "a ConfigMap that is named is a workload": [
    { workloadTypes: [{ apiVersion: "v1", kind: "ConfigMap" }] },
    { ...web, apiVersion: "v1", kind: "ConfigMap" },
    true,
  ],
  "the namespace must match": [{ namespaceSelector: { matchLabels: { team: "sales" } } }, web, true],
  "a namespace that differs does not": [{ namespaceSelector: { matchLabels: { team: "ops" } } }, web, false],
  "a namespace without labels does not": [
    { namespaceSelector: { matchLabels: { team: "sales" } } },
    { ...web, namespaceLabels: undefined },
    false,
  ],
  "a workload's own labels are not its namespace's": [
    { namespaceSelector: { matchLabels: { app: "web" } } },
    web,
    false,
  ],
  "a namespace may be named": [{ namespaces: ["shop"] }, web, true],
  "a namespace that is not named is out": [{ namespaces: ["other"] }, web, false],
  "an excluded namespace is out": [{ excludedNamespaces: ["shop"] }, web, false],
  "an excluded namespace is out although it is named": [
    { namespaces: ["shop"], excludedNamespaces: ["shop"] },
    web,
    false,
  ],
  "other namespaces may be excluded": [{ excludedNamespaces: ["other"] }, web, true],
  "what is in a namespace of the servers stays there": [{}, { ...web, namespace: "kube-system" }, false],
  "what is in such a namespace stays there although it is named": [
    { namespaces: ["kube-public"] },
    { ...web, namespace: "kube-public" },
    false,
  ],
};

const parts: readonly (readonly [name: string, fits: NonNullable<Selector>, fails: NonNullable<Selector>])[] = [
  ["labels", { labelSelector: { matchLabels: { app: "web" } } }, { labelSelector: { matchLabels: { app: "db" } } }],
  ["types", { workloadTypes: deployments }, { workloadTypes: [{ apiVersion: "batch/v1", kind: "Job" }] }],
  [
    "namespaces",
    { namespaceSelector: { matchLabels: { team: "sales" } } },
    { namespaceSelector: { matchLabels: { team: "ops" } } },
  ],
];

type Wish = Readonly<{ selector?: Selector; created?: string; isDeleting?: boolean }>;

function aPlacement(name: string, { selector = {}, created, isDeleting = false }: Wish = {}): WorkloadPlacement {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: {
      name,
      ...(created === undefined ? {} : { creationTimestamp: created }),
      ...(isDeleting ? { deletionTimestamp: "2030-01-01T12:00:00Z" } : {}),
    },
    spec: { workloadSelector: selector },
  };
}

describe("a placement's choice of workloads", () => {
  test.each(Object.entries(choices))("%s", (_, [selector, workload, isSelected]) => {
    const placement = { metadata: { name: "p" }, spec: selector === undefined ? {} : { workloadSelector: selector } };
    expect(selectsWorkload(placement, workload)).toBe(isSelected);
  });

  test.each(workloadTypes.map((type) => [type.kind, apiVersionOf(type)] as const))(
    "a %s is selected where no type is named",
    (kind, apiVersion) => expect(selectsWorkload(aPlacement("p"), { ...web, kind, apiVersion })).toBe(true),
  );

  test("labels, types and namespaces must all fit, in every mix of them", () => {
    for (let mix = 0; mix < 2 ** parts.length; mix += 1) {
      const fits = parts.map((_, index) => ((mix >> index) & 1) === 1);
      const [labels, types, namespaces] = parts.map(([, good, bad], index) => (fits[index] ? good : bad));
      const selector: Selector = { ...labels, ...types, ...namespaces };
      const which = parts.filter((_, index) => fits[index]).map(([name]) => name);
      expect(selectsWorkload(aPlacement("p", { selector }), web), `only ${which.join(", ")}`).toBe(fits.every(Boolean));
    }
  });

  test("a selector that makes no sense is neither yes nor no", () => {
    const selector: Selector = { labelSelector: { matchExpressions: [{ key: "app", operator: "In" }] } };
    const ask = () => selectsWorkload(aPlacement("p", { selector }), web);
    const why = "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty";
    const message = `placement "p": spec.workloadSelector.labelSelector: ${why}`;
    // Asked again, it says the same.
    expect(ask).toThrow(new ControllerError("invalid", message));
    expect(ask).toThrow(new ControllerError("invalid", message));
  });
});

const byLabel: Selector = { labelSelector: { matchLabels: { app: "web" } } };
const senseless: Selector = { labelSelector: { matchExpressions: [{ key: "app", operator: "In" }] } };
const early = "2030-01-01T10:00:00Z";
const late = "2030-01-01T11:00:00Z";

type Case = Readonly<{
  placements: readonly WorkloadPlacement[];
  recorded?: string;
  governs: string | undefined;
  others?: readonly string[];
}>;

const cases: Readonly<Record<string, Case>> = {
  "without a placement nobody governs": { placements: [], governs: undefined },
  "one that does not select it does not govern it": {
    placements: [aPlacement("a", { selector: { namespaces: ["other"] } })],
    governs: undefined,
  },
  "the one that asks for labels goes before the older one that does not": {
    placements: [aPlacement("a", { created: early }), aPlacement("b", { selector: byLabel, created: late })],
    governs: "b",
    others: ["a"],
  },
  "a selector of labels that asks for none counts as none": {
    placements: [
      aPlacement("a", { created: early }),
      aPlacement("b", { selector: { labelSelector: {} }, created: late }),
    ],
    governs: "a",
    others: ["b"],
  },
  "the oldest governs": {
    placements: [aPlacement("a", { created: late }), aPlacement("b", { created: early })],
    governs: "b",
    others: ["a"],
  },
  "the name decides between those of one age": {
    placements: [aPlacement("b", { created: early }), aPlacement("a", { created: early })],
    governs: "a",
    others: ["b"],
  },
  "one that was never stored comes last": {
    placements: [aPlacement("a"), aPlacement("b", { created: late })],
    governs: "b",
    others: ["a"],
  },
  "the recorded one keeps it, whoever would come first": {
    placements: [aPlacement("a", { selector: byLabel, created: early }), aPlacement("b", { created: late })],
    recorded: "b",
    governs: "b",
    others: ["a"],
  },
  "the recorded one loses it when it no longer selects it": {
    placements: [aPlacement("a"), aPlacement("b", { selector: { namespaces: ["other"] } })],
    recorded: "b",
    governs: "a",
  },
  "the recorded one loses it when it is gone": { placements: [aPlacement("a")], recorded: "b", governs: "a" },
  "the recorded one loses it when it is being deleted": {
    placements: [aPlacement("a"), aPlacement("b", { isDeleting: true })],
    recorded: "b",
    governs: "a",
  },
  "one that is being deleted governs nothing": {
    placements: [aPlacement("a", { isDeleting: true })],
    governs: undefined,
  },
  "one that makes no sense gets nothing new": {
    placements: [aPlacement("a", { selector: senseless }), aPlacement("b")],
    governs: "b",
  },
  "the others stand in the order in which they would follow": {
    placements: [
      aPlacement("a", { created: late }),
      aPlacement("b", { created: early }),
      aPlacement("c", { selector: byLabel, created: late }),
      aPlacement("d", { created: late }),
    ],
    recorded: "d",
    governs: "d",
    others: ["c", "b", "a"],
  },
};

describe("who governs a workload", () => {
  test.each(Object.entries(cases))("%s", (_, { placements, recorded, governs, others = [] }) => {
    for (const order of [placements, placements.toReversed()]) {
      const answer = governing(order, web, recorded);
      expect(answer?.placement.metadata.name).toBe(governs);
      expect(answer?.others ?? []).toEqual(others);
    }
  });

  test("a recorded placement that makes no sense any more keeps what it has: the question fails", () => {
    const placements = [aPlacement("a"), aPlacement("b", { selector: senseless })];
    expect(() => governing(placements, web, "b")).toThrow(/^placement "b": spec\.workloadSelector\.labelSelector: /);
  });
});
