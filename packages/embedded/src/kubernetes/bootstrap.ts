import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** The initial objects of a cluster besides roles and nodes, in the order of creation. */
export function bootstrapObjects(serverPort: number): { plural: string; group: string; object: KubeObject }[] {
  const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"].map((name) => ({
    group: "",
    plural: "namespaces",
    object: { apiVersion: "v1", kind: "Namespace", metadata: { name } },
  }));
  const priority = (name: string, value: number, description: string) => ({
    group: "scheduling.k8s.io",
    plural: "priorityclasses",
    object: { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value, description },
  });
  return [
    ...namespaces,
    {
      group: "",
      plural: "services",
      object: {
        apiVersion: "v1",
        kind: "Service",
        metadata: {
          name: "kubernetes",
          namespace: "default",
          labels: { component: "apiserver", provider: "kubernetes" },
        },
        spec: {
          type: "ClusterIP",
          clusterIP: "10.96.0.1",
          ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: serverPort }],
        },
      },
    },
    {
      group: "storage.k8s.io",
      plural: "storageclasses",
      object: {
        apiVersion: "storage.k8s.io/v1",
        kind: "StorageClass",
        metadata: {
          name: "standard",
          annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
        },
        provisioner: "embedded.tmc.kcp.io/volumes",
        reclaimPolicy: "Delete",
        volumeBindingMode: "Immediate",
      },
    },
    priority(
      "system-cluster-critical",
      2_000_000_000,
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    priority(
      "system-node-critical",
      2_000_001_000,
      "Used for system critical pods that must not be moved from their current node.",
    ),
  ];
}
