import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTime } from "./kinds.ts";

/** Capacity and labels of a node. */
export type NodeSpec = Readonly<{
  /** @default `<cluster>-node-<number>` */
  name?: string;
  /** @default "8" */
  cpu?: string | number;
  /** @default "32Gi" */
  memory?: string;
  /** Maximum number of pods. @default 110 */
  pods?: number;
  labels?: Readonly<Record<string, string>>;
}>;

export const kubernetesVersion = "v1.36.3";

export function nodeObjects(clusterName: string, nodes: number | readonly NodeSpec[], now: number): KubeObject[] {
  const specs = typeof nodes === "number" ? Array.from({ length: nodes }, (): NodeSpec => ({})) : nodes;
  return specs.map((spec, index) => nodeObject(spec, spec.name ?? `${clusterName}-node-${index + 1}`, index, now));
}

function nodeObject(spec: NodeSpec, name: string, index: number, now: number): KubeObject {
  const { cpu = "8", memory = "32Gi", pods = 110, labels = {} } = spec;
  const amounts = { cpu: String(cpu), memory, pods: String(pods), "ephemeral-storage": "100Gi" };
  const time = formatTime(now);
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    lastHeartbeatTime: time,
    lastTransitionTime: time,
    reason,
    message,
  });
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        ...labels,
      },
      annotations: { "node.alpha.kubernetes.io/ttl": "0" },
    },
    spec: { podCIDR: `10.244.${index}.0/24`, podCIDRs: [`10.244.${index}.0/24`] },
    status: {
      capacity: amounts,
      allocatable: amounts,
      conditions: [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
      ],
      addresses: [
        { type: "InternalIP", address: `172.18.0.${index + 2}` },
        { type: "Hostname", address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        architecture: "amd64",
        bootID: "",
        containerRuntimeVersion: "embedded://1",
        kernelVersion: "embedded",
        kubeProxyVersion: "",
        kubeletVersion: kubernetesVersion,
        machineID: "",
        operatingSystem: "linux",
        osImage: "embedded",
        systemUUID: "",
      },
    },
  };
}
