import { ControllerError } from "@tmc/kube/fault.ts";
import { describe, expect, test } from "vitest";
import { formatApiVersion } from "../../../lib/api/kind.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { findGoverningPlacement, type Selectable, selectsWorkload } from "../../../lib/sync/selection.ts";

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
  "selects nothing without a selector": [undefined, web, false],
  "selects every offered type with an empty selector": [{}, web, true],
  "selects a workload with matching labels": [{ labelSelector: { matchLabels: { app: "web" } } }, web, true],
  "does not select a workload with other labels": [{ labelSelector: { matchLabels: { app: "db" } } }, web, false],
  "does not select a workload if one label does not match": [
    { labelSelector: { matchLabels: { app: "web", tier: "back" } } },
    web,
    false,
  ],
  "evaluates match expressions": [
    { labelSelector: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["back"] }] } },
    web,
    true,
  ],
  "selects every workload with an empty label selector": [{ labelSelector: {} }, web, true],
  "selects a workload without labels by DoesNotExist": [
    { labelSelector: { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] } },
    { ...web, labels: undefined },
    true,
  ],
  "selects a workload of a listed type": [{ workloadTypes: deployments }, web, true],
  "does not select a workload of another type": [
    { workloadTypes: deployments },
    { ...web, kind: "StatefulSet" },
    false,
  ],
  "does not select the same kind of another group": [
    { workloadTypes: deployments },
    { ...web, apiVersion: "example.com/v1" },
    false,
  ],
  "selects nothing with an empty list of types": [{ workloadTypes: [] }, web, false],
  "selects a custom type that the operator offers": [
    {},
    { ...web, apiVersion: "example.com/v1", kind: "Database" },
    true,
  ],
  "does not select a ConfigMap without a list of types": [{}, { ...web, apiVersion: "v1", kind: "ConfigMap" }, false],
  "does not select a Secret without a list of types": [{}, { ...web, apiVersion: "v1", kind: "Secret" }, false],
  "does not select a ServiceAccount without a list of types": [
    {},
    { ...web, apiVersion: "v1", kind: "ServiceAccount" },
    false,
  ],
  "selects a ConfigMap if its type is listed": [
    { workloadTypes: [{ apiVersion: "v1", kind: "ConfigMap" }] },
    { ...web, apiVersion: "v1", kind: "ConfigMap" },
    true,
  ],
  "selects a workload in a namespace with matching labels": [
    { namespaceSelector: { matchLabels: { team: "sales" } } },
    web,
    true,
  ],
  "does not select a workload in a namespace with other labels": [
    { namespaceSelector: { matchLabels: { team: "ops" } } },
    web,
    false,
  ],
  "does not select a workload in a namespace without labels": [
    { namespaceSelector: { matchLabels: { team: "sales" } } },
    { ...web, namespaceLabels: undefined },
    false,
  ],
  "does not match namespace labels against the workload's labels": [
    { namespaceSelector: { matchLabels: { app: "web" } } },
    web,
    false,
  ],
  "selects a workload in a listed namespace": [{ namespaces: ["shop"] }, web, true],
  "does not select a workload in a namespace that is not listed": [{ namespaces: ["other"] }, web, false],
  "does not select a workload in an excluded namespace": [{ excludedNamespaces: ["shop"] }, web, false],
  "does not select a workload in a namespace that is both listed and excluded": [
    { namespaces: ["shop"], excludedNamespaces: ["shop"] },
    web,
    false,
  ],
  "selects a workload if other namespaces are excluded": [{ excludedNamespaces: ["other"] }, web, true],
  "does not select a workload in a reserved namespace": [{}, { ...web, namespace: "kube-system" }, false],
  "does not select a workload in a reserved namespace even if it is listed": [
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

describe("selectsWorkload", () => {
  test.each(Object.entries(choices))("%s", (_, [selector, workload, isSelected]) => {
    const placement = { metadata: { name: "p" }, spec: selector === undefined ? {} : { workloadSelector: selector } };
    expect(selectsWorkload(placement, workload)).toBe(isSelected);
  });

  test.each(workloadTypes.map((type) => [type.kind, formatApiVersion(type)] as const))(
    "selects a %s without a list of types",
    (kind, apiVersion) => expect(selectsWorkload(aPlacement("p"), { ...web, kind, apiVersion })).toBe(true),
  );

  test("selects a workload only if labels, type and namespace all match, in every combination", () => {
    for (let mix = 0; mix < 2 ** parts.length; mix += 1) {
      const fits = parts.map((_, index) => ((mix >> index) & 1) === 1);
      const [labels, types, namespaces] = parts.map(([, good, bad], index) => (fits[index] ? good : bad));
      const selector: Selector = { ...labels, ...types, ...namespaces };
      const which = parts.filter((_, index) => fits[index]).map(([name]) => name);
      expect(selectsWorkload(aPlacement("p", { selector }), web), `only ${which.join(", ")}`).toBe(fits.every(Boolean));
    }
  });

  test("fails for an invalid selector", () => {
    const selector: Selector = { labelSelector: { matchExpressions: [{ key: "app", operator: "In" }] } };
    const select = () => selectsWorkload(aPlacement("p", { selector }), web);
    const cause = "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty";
    const message = `placement "p": spec.workloadSelector.labelSelector: ${cause}`;
    // A second call gives the same result, although the parsed selector is cached.
    expect(select).toThrow(new ControllerError("invalid", message));
    expect(select).toThrow(new ControllerError("invalid", message));
  });
});

const byLabel: Selector = { labelSelector: { matchLabels: { app: "web" } } };
const invalidSelector: Selector = { labelSelector: { matchExpressions: [{ key: "app", operator: "In" }] } };
const early = "2030-01-01T10:00:00Z";
const late = "2030-01-01T11:00:00Z";

type Case = Readonly<{
  placements: readonly WorkloadPlacement[];
  recorded?: string;
  governs: string | undefined;
  others?: readonly string[];
}>;

const cases: Readonly<Record<string, Case>> = {
  "returns undefined without placements": { placements: [], governs: undefined },
  "returns undefined if no placement selects the workload": {
    placements: [aPlacement("a", { selector: { namespaces: ["other"] } })],
    governs: undefined,
  },
  "prefers a placement that selects by labels over an older one that does not": {
    placements: [aPlacement("a", { created: early }), aPlacement("b", { selector: byLabel, created: late })],
    governs: "b",
    others: ["a"],
  },
  "treats an empty label selector as no label selector": {
    placements: [
      aPlacement("a", { created: early }),
      aPlacement("b", { selector: { labelSelector: {} }, created: late }),
    ],
    governs: "a",
    others: ["b"],
  },
  "prefers the oldest placement": {
    placements: [aPlacement("a", { created: late }), aPlacement("b", { created: early })],
    governs: "b",
    others: ["a"],
  },
  "prefers the first name among placements of the same age": {
    placements: [aPlacement("b", { created: early }), aPlacement("a", { created: early })],
    governs: "a",
    others: ["b"],
  },
  "prefers stored placements over one without a creation time": {
    placements: [aPlacement("a"), aPlacement("b", { created: late })],
    governs: "b",
    others: ["a"],
  },
  "prefers the recorded placement over all others": {
    placements: [aPlacement("a", { selector: byLabel, created: early }), aPlacement("b", { created: late })],
    recorded: "b",
    governs: "b",
    others: ["a"],
  },
  "ignores the recorded placement if it no longer selects the workload": {
    placements: [aPlacement("a"), aPlacement("b", { selector: { namespaces: ["other"] } })],
    recorded: "b",
    governs: "a",
  },
  "ignores a recorded placement that does not exist": { placements: [aPlacement("a")], recorded: "b", governs: "a" },
  "ignores a recorded placement that is being deleted": {
    placements: [aPlacement("a"), aPlacement("b", { isDeleting: true })],
    recorded: "b",
    governs: "a",
  },
  "ignores a placement that is being deleted": {
    placements: [aPlacement("a", { isDeleting: true })],
    governs: undefined,
  },
  "ignores a new placement with an invalid selector": {
    placements: [aPlacement("a", { selector: invalidSelector }), aPlacement("b")],
    governs: "b",
  },
  "lists the other placements in order of precedence": {
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

describe("findGoverningPlacement", () => {
  test.each(Object.entries(cases))("%s", (_, { placements, recorded, governs, others = [] }) => {
    for (const order of [placements, placements.toReversed()]) {
      const answer = findGoverningPlacement(order, web, recorded);
      expect(answer?.placement.metadata.name).toBe(governs);
      expect(answer?.others ?? []).toEqual(others);
    }
  });

  test("fails if the recorded placement has an invalid selector, so that its workloads are kept", () => {
    const placements = [aPlacement("a"), aPlacement("b", { selector: invalidSelector })];
    expect(() => findGoverningPlacement(placements, web, "b")).toThrow(
      /^placement "b": spec\.workloadSelector\.labelSelector: /,
    );
  });
});
