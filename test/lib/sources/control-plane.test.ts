import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { asCluster } from "../../../lib/sources/cluster.ts";
import { readControlPlaneEndpoint, readControlPlaneRegistration } from "../../../lib/sources/control-plane.ts";
import { parseSecretTemplate } from "../../../lib/sources/secret-template.ts";
import { aControlPlane, aControlPlaneRegistration, anEndpoint, ready } from "./objects.ts";

const context = { cluster: "abc", template: undefined };

type Given = Readonly<{
  /** The registration's spec besides the control plane it is for. */
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

describe("the endpoint of a registered control plane", () => {
  const cases: Record<string, { given: Given; expected: string }> = {
    "is the one that the registration names, before all else": {
      given: {
        spec: { endpointRef: { name: "gate" } },
        plane: complete,
        endpoints: [named({ endpoint: "https://gate.example" })],
      },
      expected: "https://gate.example",
    },
    "is the control plane's status where the registration names none": {
      given: {
        plane: { ...complete, spec: { endpointRef: { name: "gate" } } },
        endpoints: [named({ endpoint: "https://gate.example" })],
      },
      expected: "https://status.example",
    },
    "is the one that the control plane names while its status has none": {
      given: {
        plane: { spec: { endpointRef: { name: "gate" } }, status: { kubeconfigSecretRef: secretRef } },
        endpoints: [named({ endpoint: "https://gate.example" })],
      },
      expected: "https://gate.example",
    },
    "is not named by an empty reference": {
      given: { spec: { endpointRef: { name: "" } }, plane: complete },
      expected: "https://status.example",
    },
    "keeps its path and loses the slash at its end": {
      given: {
        plane: {
          status: { endpoint: "https://kplane.example:30443/clusters/acme/", kubeconfigSecretRef: secretRef },
        },
      },
      expected: "https://kplane.example:30443/clusters/acme",
    },
    "is the one of the registration's own namespace where there are several": {
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

describe("what is waited for", () => {
  const cases: Record<string, { given: Given; expected: string }> = {
    "a control plane that is named": {
      given: { spec: { controlPlaneRef: {} }, plane: complete },
      expected: "ControlPlaneRefMissing: spec.controlPlaneRef.name is missing",
    },
    "the control plane that is named": {
      given: { plane: undefined },
      expected: 'ControlPlaneNotFound: control plane "acme" is not there',
    },
    "the endpoint that the registration names, even while the control plane has one": {
      given: { spec: { endpointRef: { name: "gate" } }, plane: complete },
      expected: 'EndpointPending: endpoint "gate" is not there',
    },
    "an endpoint to be filled": {
      given: { spec: { endpointRef: { name: "gate" } }, plane: complete, endpoints: [named({})] },
      expected: 'EndpointPending: endpoint "gate" is empty',
    },
    "a control plane to get its endpoint": {
      given: { plane: { status: { kubeconfigSecretRef: secretRef } } },
      expected: 'EndpointPending: control plane "acme" has no endpoint yet',
    },
    "somebody to say which of two endpoints is meant": {
      given: {
        spec: { endpointRef: { name: "gate" } },
        plane: complete,
        endpoints: ["b", "a"].map((namespace) => anEndpoint("gate", { metadata: { namespace } })),
      },
      expected: 'EndpointPending: endpoint "gate" is in several namespaces: a, b',
    },
    "an address that can be used": {
      given: { plane: { status: { endpoint: "http://status.example", kubeconfigSecretRef: secretRef } } },
      expected:
        "EndpointInvalid: the endpoint cannot be used: server status.example: plain http is taken for this machine only",
    },
    "https, even on this machine": {
      given: { plane: { status: { endpoint: "http://127.0.0.1:1", kubeconfigSecretRef: secretRef } } },
      expected: "EndpointInvalid: the endpoint is not https",
    },
    "the kubeconfig": {
      given: { plane: { status: { endpoint: "https://status.example" } } },
      expected: "KubeconfigPending: the control plane has no kubeconfig secret yet",
    },
    "the kubeconfig's name, where an override leaves it empty": {
      given: { spec: { kubeconfigSecretRef: {} }, plane: complete },
      expected: "KubeconfigPending: the control plane has no kubeconfig secret yet",
    },
    "the kubeconfig's namespace": {
      given: { spec: { kubeconfigSecretRef: { name: "mine" } }, plane: complete },
      expected: 'KubeconfigPending: secret "mine": its namespace is missing',
    },
    "a secret of its own, where the registration is in a namespace": {
      given: {
        metadata: { namespace: "team-a" },
        spec: { kubeconfigSecretRef: { name: "theirs", namespace: "team-b" } },
        plane: complete,
      },
      expected: `KubeconfigPending: secret "theirs" is not in the registration's own namespace`,
    },
    "a service that is known": {
      given: { spec: { services: ["Workloads", "Dns"] }, plane: complete },
      expected: 'ServiceUnknown: service "Dns" is not one of Controllers, Scheduler, Workloads',
    },
  };
  it.each(Object.entries(cases))("%s", (_, { given, expected }) => {
    const { pending } = read(given);
    expect(`${pending?.reason}: ${pending?.message}`).toBe(expected);
  });

  it("keeps the cluster from being Ready, and does not say since when", () => {
    const reading = read({ plane: { status: { endpoint: "https://status.example", conditions: [ready()] } } });
    expect(asCluster(reading).facts).toMatchObject({
      ready: "Unknown",
      readyReason: "KubeconfigPending",
      notReadySinceMs: undefined,
    });
  });
});

describe("the secret of a registered control plane", () => {
  const cases: Record<string, { given: Given; expected: object }> = {
    "is the control plane's": { given: { plane: complete }, expected: { ...secretRef, key: "kubeconfig" } },
    "is the registration's own before that": {
      given: { spec: { kubeconfigSecretRef: { name: "mine", namespace: "x" } }, plane: complete },
      expected: { name: "mine", namespace: "x", key: "kubeconfig" },
    },
    "is in the registration's namespace where it says none": {
      given: { metadata: { namespace: "x" }, spec: { kubeconfigSecretRef: { name: "mine" } }, plane: complete },
      expected: { name: "mine", namespace: "x", key: "kubeconfig" },
    },
  };
  it.each(Object.entries(cases))("%s", (_, { given, expected }) => {
    expect(read(given).registration.spec.credentials).toEqual({ secretRef: expected });
  });

  it("is read for clients outside where the template says so", () => {
    const reading = readControlPlaneRegistration(
      {
        registration: aControlPlaneRegistration("acme", { spec: { controlPlaneRef: { name: "acme" } } }),
        controlPlane: aControlPlane("acme", complete),
        endpointsOf: () => [],
      },
      { cluster: "abc", template: parseSecretTemplate("{name}:kubeconfig-external") },
    );
    expect(reading.registration.spec.credentials).toEqual({ secretRef: { ...secretRef, key: "kubeconfig-external" } });
  });
});

describe("a registered control plane", () => {
  it("is as ready as its control plane", () => {
    const reading = read({ plane: { status: { ...complete.status, conditions: [ready("False", "Bootstrapping")] } } });
    expect(asCluster(reading).facts).toMatchObject({ ready: "False", readyReason: "Bootstrapping" });
  });

  it.each([
    { services: undefined, unschedulable: false, known: undefined },
    { services: [], unschedulable: false, known: undefined },
    { services: ["workloads"], unschedulable: false, known: ["Workloads"] },
    { services: ["Controllers", "scheduler"], unschedulable: true, known: ["Controllers", "Scheduler"] },
  ])("takes work where it is registered for it: $services", ({ services, unschedulable, known }) => {
    const reading = read({ spec: { services }, plane: complete });
    expect(reading.services).toEqual(known);
    expect(asCluster(reading).facts.unschedulable).toBe(unschedulable);
  });

  it("does not believe what its status says was resolved earlier", () => {
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

describe("the address of an endpoint", () => {
  const [outer, inner] = ["https://outer.example", "https://inner.example"];
  const cases: Record<string, { spec?: object; status?: object; expected: string | undefined }> = {
    "is the external one that was observed": {
      spec: { externalEndpoint: "https://x.example", endpoint: inner },
      status: { externalEndpoint: outer, endpoint: inner },
      expected: outer,
    },
    "is the external one that was asked for, before an internal one that was observed": {
      spec: { externalEndpoint: outer },
      status: { endpoint: inner },
      expected: outer,
    },
    "is the internal one that was observed": {
      spec: { endpoint: "https://x.example" },
      status: { endpoint: inner },
      expected: inner,
    },
    "is the internal one that was asked for": { spec: { endpoint: inner }, expected: inner },
    "is never the one for joining": { spec: { joinEndpoint: outer }, expected: undefined },
    "is no number": { spec: { endpoint: 5 }, expected: undefined },
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

describe("an endpoint by itself", () => {
  const spec = { endpoint: "https://acme.example" };

  it("has its kubeconfig where kplane puts it", () => {
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
  ])("leads only secrets of its own namespace to its address: $template", ({ template, endpoint }) => {
    const { registration } = readControlPlaneEndpoint(anEndpoint("acme", { spec, metadata: { namespace: "team-a" } }), {
      cluster: "abc",
      template: parseSecretTemplate(template),
    });
    expect(registration.spec.endpoint).toEqual(endpoint);
  });

  it("waits for a secret that can have a name", () => {
    const { pending } = readControlPlaneEndpoint(anEndpoint("acme", { spec }), {
      cluster: "abc",
      template: parseSecretTemplate("{namespace}/{name}"),
    });
    expect(pending).toEqual({
      reason: "KubeconfigPending",
      message: "its secret would be in its own namespace, and it has none",
    });
  });
});
