import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { toSourceCluster } from "../../../lib/sources/cluster.ts";
import { readControlPlaneEndpoint, readControlPlaneRegistration } from "../../../lib/sources/control-plane.ts";
import { parseSecretTemplate } from "../../../lib/sources/secret-template.ts";
import { aControlPlane, aControlPlaneRegistration, anEndpoint, ready } from "./objects.ts";

const context = { logicalCluster: "abc", template: undefined };

type Given = Readonly<{
  /** Fields of the registration's spec besides controlPlaneRef. */
  spec?: object;
  metadata?: Partial<KubeObject["metadata"]>;
  plane?: Readonly<{ spec?: object; status?: object }> | undefined;
  endpoints?: readonly KubeObject[];
}>;

const secretRef = { name: "kubeconfig", namespace: "kplane-cp-acme" };

function read({ spec = {}, metadata = {}, plane, endpoints = [] }: Given) {
  return readControlPlaneRegistration(
    {
      registration: aControlPlaneRegistration("acme", {
        metadata,
        spec: { controlPlaneRef: { name: "acme" }, ...spec },
      }),
      controlPlane: plane && aControlPlane("acme", plane),
      endpointsOf: (name) => endpoints.filter((endpoint) => endpoint.metadata.name === name),
    },
    context,
  );
}

const complete = { status: { endpoint: "https://status.example", kubeconfigSecretRef: secretRef } };
const named = (where: object, what: object = {}) => anEndpoint("gate", { spec: where, status: what });

describe("endpoint of a ControlPlaneRegistration", () => {
  const cases: Record<string, { given: Given; expected: string }> = {
    "the endpoint that the registration names takes precedence": {
      given: {
        spec: { endpointRef: { name: "gate" } },
        plane: complete,
        endpoints: [named({ endpoint: "https://gate.example" })],
      },
      expected: "https://gate.example",
    },
    "the endpoint in the ControlPlane's status is used if the registration names none": {
      given: {
        plane: { ...complete, spec: { endpointRef: { name: "gate" } } },
        endpoints: [named({ endpoint: "https://gate.example" })],
      },
      expected: "https://status.example",
    },
    "the endpoint that the ControlPlane names is used if its status has none": {
      given: {
        plane: { spec: { endpointRef: { name: "gate" } }, status: { kubeconfigSecretRef: secretRef } },
        endpoints: [named({ endpoint: "https://gate.example" })],
      },
      expected: "https://gate.example",
    },
    "an empty endpoint reference is ignored": {
      given: { spec: { endpointRef: { name: "" } }, plane: complete },
      expected: "https://status.example",
    },
    "the endpoint keeps its path without a trailing slash": {
      given: {
        plane: {
          status: { endpoint: "https://kplane.example:30443/clusters/acme/", kubeconfigSecretRef: secretRef },
        },
      },
      expected: "https://kplane.example:30443/clusters/acme",
    },
    "an endpoint in the registration's namespace takes precedence": {
      given: {
        spec: { endpointRef: { name: "gate" } },
        metadata: { namespace: "b" },
        plane: complete,
        endpoints: ["a", "b"].map((namespace) =>
          anEndpoint("gate", { metadata: { namespace }, spec: { endpoint: `https://${namespace}.example` } }),
        ),
      },
      expected: "https://b.example",
    },
  };
  it.each(Object.entries(cases))("%s", (_, { given, expected }) => {
    const reading = read(given);
    expect(reading.pending).toBeUndefined();
    expect(reading.endpoint).toBe(expected);
  });
});

describe("pending reasons", () => {
  const cases: Record<string, { given: Given; expected: string }> = {
    "it names no control plane": {
      given: { spec: { controlPlaneRef: {} }, plane: complete },
      expected: "ControlPlaneRefMissing: spec.controlPlaneRef.name is missing",
    },
    "the control plane does not exist": {
      given: { plane: undefined },
      expected: 'ControlPlaneNotFound: control plane "acme" does not exist',
    },
    "its endpoint does not exist, although the control plane has one": {
      given: { spec: { endpointRef: { name: "gate" } }, plane: complete },
      expected: 'EndpointPending: endpoint "gate" does not exist',
    },
    "its endpoint is empty": {
      given: { spec: { endpointRef: { name: "gate" } }, plane: complete, endpoints: [named({})] },
      expected: 'EndpointPending: endpoint "gate" is empty',
    },
    "the control plane has no endpoint": {
      given: { plane: { status: { kubeconfigSecretRef: secretRef } } },
      expected: 'EndpointPending: control plane "acme" has no endpoint yet',
    },
    "its endpoint exists in several namespaces": {
      given: {
        spec: { endpointRef: { name: "gate" } },
        plane: complete,
        endpoints: ["b", "a"].map((namespace) => anEndpoint("gate", { metadata: { namespace } })),
      },
      expected: 'EndpointPending: endpoint "gate" is in several namespaces: a, b',
    },
    "the endpoint is invalid": {
      given: { plane: { status: { endpoint: "http://status.example", kubeconfigSecretRef: secretRef } } },
      expected:
        "EndpointInvalid: the endpoint is invalid: server status.example: plain http is accepted for this machine only",
    },
    "the endpoint is not https, although it is local": {
      given: { plane: { status: { endpoint: "http://127.0.0.1:1", kubeconfigSecretRef: secretRef } } },
      expected: "EndpointInvalid: the endpoint is not https",
    },
    "there is no kubeconfig secret": {
      given: { plane: { status: { endpoint: "https://status.example" } } },
      expected: "KubeconfigPending: the control plane has no kubeconfig secret yet",
    },
    "its secret reference has no name": {
      given: { spec: { kubeconfigSecretRef: {} }, plane: complete },
      expected: "KubeconfigPending: the control plane has no kubeconfig secret yet",
    },
    "its secret reference has no namespace": {
      given: { spec: { kubeconfigSecretRef: { name: "mine" } }, plane: complete },
      expected: 'KubeconfigPending: secret "mine": the namespace is missing',
    },
    "it names a secret in another namespace": {
      given: {
        metadata: { namespace: "team-a" },
        spec: { kubeconfigSecretRef: { name: "theirs", namespace: "team-b" } },
        plane: complete,
      },
      expected: `KubeconfigPending: secret "theirs" is not in the registration's own namespace`,
    },
    "it names an unknown service": {
      given: { spec: { services: ["Workloads", "Dns"] }, plane: complete },
      expected: 'ServiceUnknown: service "Dns" is not one of Controllers, Scheduler, Workloads',
    },
  };
  it.each(Object.entries(cases))("a registration is pending: %s", (_, { given, expected }) => {
    const { pending } = read(given);
    expect(`${pending?.reason}: ${pending?.message}`).toBe(expected);
  });

  it("a pending registration is not Ready, without a transition time", () => {
    const reading = read({ plane: { status: { endpoint: "https://status.example", conditions: [ready()] } } });
    expect(toSourceCluster(reading).facts).toMatchObject({
      ready: "Unknown",
      readyReason: "KubeconfigPending",
      notReadySinceMs: undefined,
    });
  });
});

describe("Secret of a ControlPlaneRegistration", () => {
  const cases: Record<string, { given: Given; expected: object }> = {
    "the Secret in the ControlPlane's status is used": {
      given: { plane: complete },
      expected: { ...secretRef, key: "kubeconfig" },
    },
    "the Secret that the registration names takes precedence": {
      given: { spec: { kubeconfigSecretRef: { name: "mine", namespace: "x" } }, plane: complete },
      expected: { name: "mine", namespace: "x", key: "kubeconfig" },
    },
    "the namespace of a namespaced registration is the default for its Secret": {
      given: { metadata: { namespace: "x" }, spec: { kubeconfigSecretRef: { name: "mine" } }, plane: complete },
      expected: { name: "mine", namespace: "x", key: "kubeconfig" },
    },
  };
  it.each(Object.entries(cases))("%s", (_, { given, expected }) => {
    expect(read(given).registration.spec.credentials).toEqual({ secretRef: expected });
  });

  it("the secret template selects the key of the Secret", () => {
    const reading = readControlPlaneRegistration(
      {
        registration: aControlPlaneRegistration("acme", { spec: { controlPlaneRef: { name: "acme" } } }),
        controlPlane: aControlPlane("acme", complete),
        endpointsOf: () => [],
      },
      { logicalCluster: "abc", template: parseSecretTemplate("{name}:kubeconfig-external") },
    );
    expect(reading.registration.spec.credentials).toEqual({ secretRef: { ...secretRef, key: "kubeconfig-external" } });
  });
});

describe("readControlPlaneRegistration", () => {
  it("a registration has the Ready condition of its control plane", () => {
    const reading = read({ plane: { status: { ...complete.status, conditions: [ready("False", "Bootstrapping")] } } });
    expect(toSourceCluster(reading).facts).toMatchObject({ ready: "False", readyReason: "Bootstrapping" });
  });

  it.each([
    { services: undefined, unschedulable: false, known: undefined },
    { services: [], unschedulable: false, known: undefined },
    { services: ["workloads"], unschedulable: false, known: ["Workloads"] },
    { services: ["Controllers", "scheduler"], unschedulable: true, known: ["Controllers", "Scheduler"] },
  ])(
    "a registration accepts workloads only for the service Workloads: $services",
    ({ services, unschedulable, known }) => {
      const reading = read({ spec: { services }, plane: complete });
      expect(reading.services).toEqual(known);
      expect(toSourceCluster(reading).facts.unschedulable).toBe(unschedulable);
    },
  );

  it("the resolved endpoint in the registration's status is ignored", () => {
    const reading = readControlPlaneRegistration(
      {
        registration: aControlPlaneRegistration("acme", {
          spec: { controlPlaneRef: { name: "acme" } },
          status: { ready: true, resolvedEndpoint: "https://old.example" },
        }),
        controlPlane: aControlPlane("acme", complete),
        endpointsOf: () => [],
      },
      context,
    );
    expect(reading.endpoint).toBe("https://status.example");
  });
});

describe("address of a ControlPlaneEndpoint", () => {
  const [outer, inner] = ["https://outer.example", "https://inner.example"];
  const cases: Record<string, { spec?: object; status?: object; expected: string | undefined }> = {
    "the external endpoint in the status is used first": {
      spec: { externalEndpoint: "https://x.example", endpoint: inner },
      status: { externalEndpoint: outer, endpoint: inner },
      expected: outer,
    },
    "the external endpoint in the spec takes precedence over an internal one in the status": {
      spec: { externalEndpoint: outer },
      status: { endpoint: inner },
      expected: outer,
    },
    "the internal endpoint in the status takes precedence over the spec": {
      spec: { endpoint: "https://x.example" },
      status: { endpoint: inner },
      expected: inner,
    },
    "the internal endpoint in the spec is used last": { spec: { endpoint: inner }, expected: inner },
    "the join endpoint is never used": { spec: { joinEndpoint: outer }, expected: undefined },
    "an endpoint that is not a string is ignored": { spec: { endpoint: 5 }, expected: undefined },
  };
  it.each(Object.entries(cases))("%s", (_, { spec, status, expected }) => {
    const reading = readControlPlaneEndpoint(
      anEndpoint("acme", { ...(spec && { spec }), ...(status && { status }) }),
      context,
    );
    expect(reading.endpoint).toBe(expected);
    expect(reading.pending?.reason).toBe(expected === undefined ? "EndpointPending" : undefined);
  });
});

describe("readControlPlaneEndpoint", () => {
  const spec = { endpoint: "https://acme.example" };

  it("an endpoint uses the Secret of kplane by default", () => {
    const { registration } = readControlPlaneEndpoint(anEndpoint("acme", { spec }), context);
    expect(registration.spec).toMatchObject({
      endpoint: { server: "https://acme.example" },
      credentials: {
        secretRef: { namespace: "kplane-cp-acme", name: "controlplane-acme-kubeconfig", key: "kubeconfig" },
      },
    });
  });

  it.each([
    { template: "{namespace}/{name}", endpoint: { server: "https://acme.example" } },
    { template: "elsewhere/{name}", endpoint: undefined },
  ])(
    "an endpoint combines only a Secret of its own namespace with its address: $template",
    ({ template, endpoint }) => {
      const { registration } = readControlPlaneEndpoint(
        anEndpoint("acme", { spec, metadata: { namespace: "team-a" } }),
        {
          logicalCluster: "abc",
          template: parseSecretTemplate(template),
        },
      );
      expect(registration.spec.endpoint).toEqual(endpoint);
    },
  );

  it("an endpoint is pending if the template cannot be rendered", () => {
    const { pending } = readControlPlaneEndpoint(anEndpoint("acme", { spec }), {
      logicalCluster: "abc",
      template: parseSecretTemplate("{namespace}/{name}"),
    });
    expect(pending).toEqual({
      reason: "KubeconfigPending",
      message: "the secret template uses {namespace}, but the object is cluster-scoped",
    });
  });
});
