import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inClusterContext } from "../../src/kubeconfig/in-cluster.ts";
import { createManualClock } from "../../src/manual-clock.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kube-in-cluster-"));
  await writeFile(join(directory, "token"), "first\n");
  await writeFile(join(directory, "ca.crt"), "-----BEGIN CERTIFICATE-----\n");
  await writeFile(join(directory, "namespace"), "tmc-system\n");
});
afterEach(() => rm(directory, { recursive: true }));

const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "6443" };

describe("the credentials of a pod", () => {
  it("are the service account's, with its namespace", async () => {
    const clock = createManualClock();
    const { endpoint, namespace } = await inClusterContext({ env, clock, directory });
    expect(namespace).toBe("tmc-system");
    expect(endpoint).toMatchObject({ server: "https://10.0.0.1:6443", ca: "-----BEGIN CERTIFICATE-----\n" });
    expect(await endpoint.token?.()).toBe("first");
  });

  it("follow the rotation of the token", async () => {
    const clock = createManualClock();
    const { endpoint } = await inClusterContext({ env, clock, directory });
    expect(await endpoint.token?.()).toBe("first");
    await writeFile(join(directory, "token"), "second\n");
    clock.advance(60_000);
    expect(await endpoint.token?.()).toBe("second");
  });

  it("have an address with brackets for IPv6", async () => {
    const clock = createManualClock();
    const ipv6 = { KUBERNETES_SERVICE_HOST: "fd00::1" };
    const { endpoint } = await inClusterContext({ env: ipv6, clock, directory });
    expect(endpoint.server).toBe("https://[fd00::1]");
  });

  it("do not exist outside of a pod, and need a mounted token", async () => {
    const clock = createManualClock();
    await expect(inClusterContext({ env: {}, clock, directory })).rejects.toThrow("does not run in a pod");
    await rm(join(directory, "ca.crt"));
    await expect(inClusterContext({ env, clock, directory })).rejects.toThrow("ca.crt");
  });
});
