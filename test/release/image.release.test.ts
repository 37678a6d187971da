import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { access, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { isRecord } from "@tmc/kube/json.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KcpUnderTest, startEmbedded } from "../e2e/kcp-under-test.ts";
import { findFreePorts } from "../real/ports.ts";
import { eventually } from "../support/eventually.ts";
import { type AssembledImage, assembleImage, type ImageTarget, imageTargets } from "./image.ts";

/** Where `tmc manifests` mounts the Secret with the kubeconfig. */
const kubeconfig = "/etc/tmc/kcp/kubeconfig";

/** A cluster that is not in the manifests: the one that the pods would run in. */
const hostKubeconfig = "/etc/tmc/host/kubeconfig";

let folder: string;
let host: EmbeddedCluster;
let kcp: KcpUnderTest;
const images = new Map<ImageTarget, AssembledImage>();
const at = (target: ImageTarget): AssembledImage => {
  const image = images.get(target);
  if (image === undefined) throw new Error(`${target} is not assembled`);
  return image;
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-image-"));
  kcp = await startEmbedded();
  const content = await readFile(await kcp.writeKubeconfig(folder), "utf8");
  host = await startEmbeddedCluster({ name: "host" });
  const context = { name: "host", endpoint: host.endpoint(), token: host.adminToken };
  const hostContent = formatKubeconfig({ contexts: [context] });
  for (const target of imageTargets) {
    const files = { [kubeconfig]: content, [hostKubeconfig]: hostContent };
    images.set(target, await assembleImage(target, await mkdtemp(join(folder, target)), files));
  }
});
afterAll(async () => {
  await Promise.all([kcp.stop(), host.stop()]);
  // An image is read-only, also for its owner.
  await promisify(execFile)("chmod", ["-R", "u+w", folder]);
  await rm(folder, { recursive: true, force: true });
});

/** The arguments of the container of the Deployment among manifests. */
function argumentsOfDeployment(manifests: readonly unknown[]): readonly string[] {
  const deployment = manifests.find((each) => isRecord(each) && each.kind === "Deployment");
  // Written by the command line, and described by the tests of the manifests.
  const { spec } = deployment as { spec: { template: { spec: { containers: { args: string[] }[] } } } };
  return spec.template.spec.containers[0]?.args ?? [];
}

/** Starts the entry point of an image and waits for its health check; returns the end that SIGTERM leads to. */
async function probe(
  target: ImageTarget,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  probeRunning: (healthPort: number) => Promise<void>,
): Promise<number | null> {
  const image = at(target);
  const [metricsPort = 0, healthPort = 0] = await findFreePorts(2);
  const ports = { TMC_METRICS_PORT: String(metricsPort), TMC_HEALTH_PORT: String(healthPort) };
  const logFile = join(folder, `${target}-${randomUUID()}.log`);
  const portArgs = [`--metrics-port=${metricsPort}`, `--health-port=${healthPort}`];
  const started = image.start(target === "controller" ? [...args, ...portArgs] : args, {
    logFile,
    env: { ...ports, ...env },
  });
  try {
    await eventually(async () => {
      if (started.ended() !== undefined) throw new Error(`${started.ended()}: ${await readFile(logFile, "utf8")}`);
      // The command of the image, as Docker runs it.
      return image.run(image.image.healthCheck, ports).then(
        () => undefined,
        async () => `the health check fails: ${await readFile(logFile, "utf8")}`,
      );
    }, 30_000);
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toMatch(/^process_resident_memory_bytes \d/m);
    await probeRunning(healthPort);
    process.kill(started.group, "SIGTERM");
    return await started.exit;
  } finally {
    await started.kill();
  }
}

describe("the assembled images", () => {
  it("run the Node of the project as a user that cannot write", async () => {
    for (const target of imageTargets) {
      const { run, path } = at(target);
      expect((await run(["node", "--version"])).stdout.trim()).toBe(process.version);
      for (const file of ["/app/x", "/tmp/x", "/x"]) {
        const code = `require("node:fs").writeFileSync(${JSON.stringify(path(file))}, "")`;
        const failure: unknown = await run(["node", "-e", code]).catch((error: unknown) => error);
        expect(String(Object(failure).stderr)).toMatch(/EROFS|EACCES/);
      }
    }
  });

  it("contain no sources, source maps, functions or packages", async () => {
    for (const [target, file] of [
      ["relay", "relay.mjs"],
      ["controller", "tmc.js"],
    ] as const) {
      const files = await readdir(join(at(target).folder, "app"), { recursive: true });
      expect(files).toContain(file);
      expect(files.filter((each) => /\.ts$|\.map$|node_modules|functions/.test(each))).toEqual([]);
    }
    await expect(access(join(at("controller").folder, "app/relay.mjs"))).rejects.toThrow("ENOENT");
  });

  it("print the commands of tmc without arguments", async () => {
    const { image, run } = at("controller");
    const { stdout, stderr } = await run([...image.entrypoint, ...image.command]);
    expect(stdout).toContain("tmc controller");
    expect(stderr).toBe("");
  });

  it("run the controller with the arguments of its manifests until it is ready, and end it on SIGTERM", async () => {
    const { image, run, path } = at("controller");
    const tmc = (...args: readonly string[]) => run([...image.entrypoint, ...args]);
    await tmc("bootstrap", "--no-kubeconfigs", "--kubeconfig", path(kubeconfig));
    const options = ["--image", "example.com/tmc-controller:1.2.3", "--api-export", "root:tmc:tmc.kcp.io"];
    const manifests = loadAll((await tmc("manifests", "--format", "controller", ...options)).stdout);
    const args = argumentsOfDeployment(manifests)
      // The test selects free ports, and a Lease in a cluster where it is not a pod.
      .filter((arg) => !/^--(metrics|health)-port=/.test(arg))
      .map((arg) => arg.replace(kubeconfig, path(kubeconfig)));
    expect(args).toContain("--leader-elect");
    const lease = [`--leader-elect-kubeconfig=${path(hostKubeconfig)}`, "--leader-elect-resource-namespace=default"];
    const exit = await probe("controller", [...args, ...lease], {}, async (port) => {
      await eventually(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
        return answer.ok ? undefined : answer.text();
      });
    });
    expect(exit).toBe(0);
  });

  it("run the relay, and end it on SIGTERM", async () => {
    const variables = {
      TMC_STAGE: "test",
      TMC_KCP_KUBECONFIG: at("relay").path(kubeconfig),
      TMC_API_EXPORT: "root:tmc:tmc.kcp.io",
      TMC_WORK_QUEUE_URL: "http://127.0.0.1:9/000000000000/work.fifo",
      AWS_REGION: "eu-central-1",
    };
    const exit = await probe("relay", [], variables, async (port) => {
      await eventually(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
        return answer.ok ? undefined : answer.text();
      });
    });
    expect(exit).toBe(0);
  });

  it("reject invalid settings with an exit code", async () => {
    const failure: unknown = await at("relay")
      .run([...at("relay").image.entrypoint], { TMC_LOG_LEVEL: "0" })
      .catch((error: unknown) => error);
    expect(Object(failure).code).toBe(1);
    expect(String(Object(failure).stdout)).toContain("environment: ");
  });
});
