import { type ClusterController, keyOf } from "../world.ts";

/** Creates the default service account and the CA bundle in every namespace. */
export function createNamespaceDefaultsController(ca: string): ClusterController {
  return {
    name: "namespace-furnisher",
    watches: {
      namespaces: (namespace) => [keyOf(namespace)],
      serviceaccounts: ({ metadata }) => (metadata.name === "default" ? [`/${metadata.namespace ?? ""}`] : []),
      configmaps: ({ metadata }) => (metadata.name === rootBundle ? [`/${metadata.namespace ?? ""}`] : []),
    },
    reconcile({ name }, world) {
      const namespace = world.get("namespaces", "", name);
      if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
      if (world.get("serviceaccounts", name, "default") === undefined) {
        world.create("serviceaccounts", { metadata: { name: "default", namespace: name } });
      }
      const bundle = world.get("configmaps", name, rootBundle);
      if (bundle === undefined) {
        world.create("configmaps", {
          metadata: { name: rootBundle, namespace: name, annotations: { "kubernetes.io/description": description } },
          data: { "ca.crt": ca },
        });
      }
      return undefined;
    },
  };
}

const rootBundle = "kube-root-ca.crt";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal " +
  "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
