import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import {
  clusterRegistrations,
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  type ReadType,
  type SourceKind,
  syncTargets,
} from "../../../lib/sources/source-kinds.ts";
import {
  controlPlaneDefinition,
  controlPlaneRegistrationDefinition,
  endpointDefinition,
  syncTargetDefinition,
} from "./definitions.ts";
import { aClusterRegistration, aControlPlane, aControlPlaneRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

/** What a cluster is to be like. */
export type Wish = Readonly<{
  name: string;
  server: string;
  labels?: Readonly<Record<string, string>>;
  isCordoned?: boolean;
  /** Where the object is, for kinds that are in namespaces. */
  namespace?: string;
}>;

/** One kind of objects that makes clusters known, as the suite handles it. */
export interface SourceUnderTest {
  readonly title: string;
  readonly source: SourceKind;
  readonly own: ReadType;
  readonly isNamespaced: boolean;
  /** Whether the kind can say that a cluster takes no work. */
  readonly canCordon: boolean;
  /** What has to be installed besides our own kinds. */
  readonly definitions: readonly object[];
  /** Where the kubeconfig of a cluster is expected. */
  secretOf(name: string): Readonly<{ namespace: string; name: string }>;
  /** Makes all objects that say so, or changes them. */
  put(client: KubeClient, wish: Wish): Promise<void>;
}

const fieldManager = "test";
/** Where objects of kinds in namespaces are unless a wish says otherwise. */
export const homeNamespace = "team-a";

async function apply(client: KubeClient, { maybeNamespaced: _, ...type }: ReadType, object: KubeObject) {
  const { uid: __, creationTimestamp: ___, ...metadata } = object.metadata;
  const address = { type, name: metadata.name ?? "", namespace: metadata.namespace };
  const { status, ...rest } = object;
  await client.patch(address, { type: "apply", body: { ...rest, metadata }, force: true }, { fieldManager });
  if (status === undefined) return;
  const body = { apiVersion: object.apiVersion, kind: object.kind, metadata, status };
  await client.patch(address, { type: "apply", body, force: true }, { fieldManager, subresource: "status" });
}

const plainSecret = (name: string) => ({ namespace: "default", name: `${name}-kubeconfig` });
const kplaneSecret = (name: string) => ({ namespace: `kplane-cp-${name}`, name: `controlplane-${name}-kubeconfig` });

const registrations: SourceUnderTest = {
  title: "ClusterRegistration",
  source: "clusterregistration",
  own: clusterRegistrations,
  isNamespaced: false,
  canCordon: true,
  definitions: [],
  secretOf: plainSecret,
  put: (client, { name, server, labels = {}, isCordoned = false }) =>
    apply(
      client,
      clusterRegistrations,
      aClusterRegistration(
        name,
        {
          location: labels.location ?? "nowhere",
          unschedulable: isCordoned,
          endpoint: { server },
          credentials: { secretRef: plainSecret(name) },
        },
        { labels: { ...labels } },
      ),
    ),
};

const targets: SourceUnderTest = {
  title: "SyncTarget",
  source: "synctarget",
  own: syncTargets,
  isNamespaced: false,
  canCordon: true,
  definitions: [syncTargetDefinition],
  secretOf: plainSecret,
  put: (client, { name, server, labels = {}, isCordoned = false }) =>
    apply(
      client,
      syncTargets,
      aSyncTarget(name, {
        metadata: { labels: { ...labels } },
        spec: {
          unschedulable: isCordoned,
          workloadCluster: { name, endpoint: server, credentials: { secretRef: plainSecret(name) } },
        },
      }),
    ),
};

const endpoints = (scope: "Cluster" | "Namespaced"): SourceUnderTest => ({
  title: `ControlPlaneEndpoint (${scope})`,
  source: "controlplaneendpoint",
  own: controlPlaneEndpoints,
  isNamespaced: scope === "Namespaced",
  canCordon: false,
  definitions: [endpointDefinition(scope)],
  secretOf: kplaneSecret,
  put: (client, { name, server, labels = {}, namespace = homeNamespace }) =>
    apply(
      client,
      controlPlaneEndpoints,
      anEndpoint(name, {
        metadata: { labels: { ...labels }, ...(scope === "Namespaced" && { namespace }) },
        spec: { externalEndpoint: server, endpoint: "https://inside.example" },
      }),
    ),
});

const planeRegistrations = (scope: "Cluster" | "Namespaced"): SourceUnderTest => ({
  title: `ControlPlaneRegistration (${scope})`,
  source: "controlplaneregistration",
  own: controlPlaneRegistrations,
  isNamespaced: scope === "Namespaced",
  canCordon: true,
  definitions: [endpointDefinition(scope), controlPlaneDefinition, controlPlaneRegistrationDefinition(scope)],
  secretOf: kplaneSecret,
  put: async (client, { name, server, labels = {}, isCordoned = false, namespace = homeNamespace }) => {
    const where = scope === "Namespaced" ? { namespace } : {};
    await apply(
      client,
      controlPlaneEndpoints,
      anEndpoint(`${name}-gate`, { metadata: where, spec: { endpoint: server } }),
    );
    await apply(
      client,
      controlPlanes,
      aControlPlane(name, {
        spec: { endpointRef: { name: `${name}-gate` } },
        status: { kubeconfigSecretRef: kplaneSecret(name) },
      }),
    );
    await apply(
      client,
      controlPlaneRegistrations,
      aControlPlaneRegistration(name, {
        metadata: { labels: { ...labels }, ...where },
        spec: { controlPlaneRef: { name }, services: isCordoned ? ["Controllers"] : ["Controllers", "Workloads"] },
      }),
    );
  },
});

/** Every source, in every scope that its kind is found in. */
export const sourcesUnderTest: readonly SourceUnderTest[] = [
  registrations,
  targets,
  endpoints("Cluster"),
  endpoints("Namespaced"),
  planeRegistrations("Cluster"),
  planeRegistrations("Namespaced"),
];
