import { describe, expect, test } from "vitest";
import { requestsOfPod } from "../../../lib/model/reserved-resources.ts";

const container = (cpu?: string, memory?: string, more: object = {}) => ({
  resources: { requests: { ...(cpu && { cpu }), ...(memory && { memory }) } },
  ...more,
});
const sidecar = { restartPolicy: "Always" };

describe("requestsOfPod", () => {
  const rows: Record<string, { spec: unknown; millicores: number; mebibytes?: number }> = {
    "is the sum of the containers": {
      spec: { containers: [container("100m", "64Mi"), container("1", "1Gi"), container()] },
      millicores: 1_100,
      mebibytes: 1_088,
    },
    "is what an init container needs, if that is more": {
      spec: { initContainers: [container("2", "16Mi")], containers: [container("500m", "64Mi")] },
      millicores: 2_000,
      mebibytes: 64,
    },
    "counts sidecars with the containers": {
      spec: {
        initContainers: [container("1"), container("300m", undefined, sidecar)],
        containers: [container("900m")],
      },
      millicores: 1_200,
    },
    "counts sidecars with the init containers that follow them": {
      spec: {
        initContainers: [container("300m", undefined, sidecar), container("1")],
        containers: [container("100m")],
      },
      millicores: 1_300,
    },
    "includes the overhead": {
      spec: { containers: [container("1", "1Mi")], overhead: { cpu: "250m", memory: "2Mi" } },
      millicores: 1_250,
      mebibytes: 3,
    },
    "is what the pod requests as a whole": {
      spec: { containers: [container("1", "1Mi")], resources: { requests: { cpu: "3" } } },
      millicores: 3_000,
      mebibytes: 1,
    },
    "is nothing for amounts that are invalid or negative": {
      spec: { containers: [container("-1", "much"), "no container", container("1")], initContainers: "none" },
      millicores: 1_000,
    },
    "is nothing without a spec": { spec: undefined, millicores: 0 },
  };
  test.each(Object.entries(rows))("%s", (_, { spec, millicores, mebibytes = 0 }) => {
    expect(requestsOfPod({ metadata: {}, spec })).toEqual({
      cpu: BigInt(millicores) * 1_000_000n,
      memory: BigInt(mebibytes) * 1_048_576n * 1_000_000_000n,
    });
  });
});
