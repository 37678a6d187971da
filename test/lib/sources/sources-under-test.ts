import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import {
  clusterRegistrations,
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  type SourceKind,
  type SourceType,
  syncTargets,
} from "../../../lib/sources/source-kinds.ts";
import {
  controlPlaneDefinition,
  controlPlaneRegistrationDefinition,
  endpointDefinition,
  syncTargetDefinition,
} from "./definitions.ts";
import { aClusterRegistration, aControlPlane, aControlPlaneRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

/** The desired properties of a cluster. */
export type DesiredCluster = Readonly<{
  name: string;
  server: string;
  labels?: Readonly<Record<string, string>>;
  isCordoned?: boolean;
  /** Namespace of the object, for namespaced kinds. */
  namespace?: string;
}>;

/** One cluster source, as the contract uses it. */
export interface SourceUnderTest {
  readonly title: string;
  readonly source: SourceKind;
  readonly own: SourceType;
  readonly isNamespaced: boolean;
  /** Whether the kind can mark a cluster as unschedulable. */
  readonly canCordon: boolean;
  /** CustomResourceDefinitions that are needed besides TMC's kinds. */
  readonly definitions: readonly object[];
  /** Returns the Secret with the kubeconfig of a cluster. */
  secretOf(name: string): Readonly<{ namespace: string; name: string }>;
  /** Creates or changes all objects that define a cluster. */
  put(client: KubeClient, cluster: DesiredCluster): Promise<void>;
}

const fieldManager = "test";
/** Default namespace of namespaced objects. */
export const defaultNamespace = "team-a";

async function apply(client: KubeClient, { maybeNamespaced: _, ...type }: SourceType, object: KubeObject) {
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
  put: (client, { name, server, labels = {}, namespace = defaultNamespace }) =>
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
  put: async (client, { name, server, labels = {}, isCordoned = false, namespace = defaultNamespace }) => {
    const scopeMetadata = scope === "Namespaced" ? { namespace } : {};
    await apply(
      client,
      controlPlaneEndpoints,
      anEndpoint(`${name}-gate`, { metadata: scopeMetadata, spec: { endpoint: server } }),
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
        metadata: { labels: { ...labels }, ...scopeMetadata },
        spec: { controlPlaneRef: { name }, services: isCordoned ? ["Controllers"] : ["Controllers", "Workloads"] },
      }),
    );
  },
});

/** Every source, in every scope of its kind. */
export const sourcesUnderTest: readonly SourceUnderTest[] = [
  registrations,
  targets,
  endpoints("Cluster"),
  endpoints("Namespaced"),
  planeRegistrations("Cluster"),
  planeRegistrations("Namespaced"),
];
