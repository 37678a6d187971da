import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import { workspaces } from "../../lib/upstream/kcp-types.ts";
import { eventuallyGone } from "../contract/resources.ts";
import { tmc } from "../lib/cli/support.ts";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import type { KcpUnderTest } from "./kcp-under-test.ts";

/** A command of the page, what is fed to it, and what it is said to print. */
type Command = Readonly<{ line: string; input: string; printed: string }>;

/** Runs a kubectl command with its input; answers what it prints. */
export type Kubectl = (kubeconfig: string, args: readonly string[], input: string) => Promise<string>;

/** A tenant's cluster, and how it is left. */
export type PageCluster = Readonly<{ endpoint: Endpoint; token: string; stop(): Promise<unknown> }>;

export type KcpPage = Readonly<{
  start: () => Promise<KcpUnderTest>;
  startCluster: (name: string) => Promise<PageCluster>;
  kubectl: (kcp: KcpUnderTest) => Kubectl;
}>;

/** The tenants of the page, and the cluster that each has. */
const teams = { "team-a": "east", "team-b": "west" } as const;

/** Reads the commands of a page's console blocks. */
export function parsePage(page: string): readonly Command[] {
  return [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].flatMap(([, block = ""]) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const [first = "", ...rest] = text.split("\n");
        if (!first.endsWith(" <<EOF")) return { line: first, input: "", printed: rest.join("\n") };
        const end = rest.indexOf("EOF");
        return {
          line: first.slice(0, -" <<EOF".length),
          input: `${rest.slice(0, end).join("\n")}\n`,
          printed: rest.slice(end + 1).join("\n"),
        };
      }),
  );
}

/** What differs from one run to the next, and from one version of the schemas to the next. */
const settled = (text: string): string =>
  text
    .replace(/(v\d\w*)-[0-9a-f]{8}\./g, "$1-….")
    .replace(/(by APIBinding tmc\.kcp\.io)-[0-9a-z]+/g, "$1-…")
    .replace(/\b\d+[smh](?= ago|$)/gm, "…")
    .replace(/ {2,}/g, "  ");

/** Every command of docs/kcp.md prints what the page says. */
export function kcpPageCases(title: string, page: KcpPage): void {
  describe(title, async () => {
    const commands = parsePage(await readFile(new URL("../../docs/kcp.md", import.meta.url), "utf8"));
    let kcp: KcpUnderTest;
    let folder = "";
    let kubeconfig = "";
    let controller: ControllerProcess | undefined;
    const clusters: PageCluster[] = [];
    beforeAll(async () => {
      kcp = await page.start();
      folder = await mkdtemp(join(tmpdir(), "tmc-page-"));
      kubeconfig = await kcp.writeKubeconfig(folder);
      for (const [team, name] of Object.entries(teams)) {
        await kcp.writeKubeconfig(folder, `root:${team}`, `${team}.kubeconfig`);
        const cluster = await page.startCluster(name);
        clusters.push(cluster);
        const { endpoint, token } = cluster;
        await writeFile(
          join(folder, `${name}.kubeconfig`),
          formatKubeconfig({ contexts: [{ name, endpoint, token }] }),
        );
      }
    }, 60_000);
    afterAll(async () => {
      await controller?.kill();
      const root = kcp.admin.at("/clusters/root");
      for (const name of Object.keys(teams)) {
        await root.delete({ type: workspaces, name }).catch(() => {});
        await eventuallyGone(root, { type: workspaces, name }, 60_000);
      }
      await kcp.stop();
      for (const cluster of clusters) await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    }, 150_000);

    /** The files of the page are in a folder of the test's. */
    const inFolder = (word: string): string =>
      word.replace(/(^|=)((?:secrets\/)?[\w-]+\.kubeconfig|secrets)$/, (_, before: string, file: string) =>
        before === "=" ? `=${join(folder, file)}` : join(folder, file),
      );
    const run = async (program: string, args: readonly string[], input: string): Promise<string> => {
      switch (program) {
        case "kubectl": {
          const answer = await page.kubectl(kcp)(kubeconfig, args, input);
          const object = input === "" ? undefined : (load(input) as KubeObject);
          // The next command is typed by a person, for whom a workspace is ready at once.
          if (object?.kind === "Workspace") await ensureWorkspace(kcp.admin, `root:${object.metadata.name}`);
          return answer;
        }
        case "curl": {
          const { pathname, search } = new URL(`http://${args.at(-1)}`);
          return (await controller?.ask(pathname + search))?.text ?? "";
        }
        case "kill": {
          controller?.terminate();
          expect(await controller?.exit).toBe(0);
          return "";
        }
        default: {
          if (args.at(-1) === "&") {
            controller = await startController(folder, args.slice(1, -1));
            return "";
          }
          const { out, err } = await tmc(args, { env: { KUBECONFIG: kubeconfig } });
          return (out + err).replaceAll(`${folder}/`, "");
        }
      }
    };

    it("has commands", () => {
      expect(commands.length).toBeGreaterThan(20);
    });

    it.each(commands.map((command) => [command.line, command] as const))(
      "%s",
      async (_, { line, input, printed }) => {
        const [program = "", ...words] = line.split(" ");
        const args = words.map(inFolder);
        let answer = settled(await run(program, args, input));
        if (program === "curl") {
          // A person who asks how it is asks again.
          await eventually(async () => {
            if (answer === settled(printed)) return undefined;
            answer = settled(await run(program, args, input));
            return answer;
          }, 60_000);
        }
        expect(answer).toBe(settled(printed));
      },
      120_000,
    );
  });
}

/** The two kinds of `kubectl create` on the page, for where there is no kubectl. */
export const createByHand =
  ({ admin }: KcpUnderTest): Kubectl =>
  async (_, args, input) => {
    if (args.includes("secret")) return createSecretByHand(admin, args);
    expect(args).toEqual(["create", "-f", "-"]);
    const object = load(input) as KubeObject;
    const { metadata } = await admin.at("/clusters/root").create({ type: workspaces }, object);
    return `${object.kind.toLowerCase()}.${workspaces.group}/${metadata.name} created\n`;
  };

async function createSecretByHand(admin: KcpUnderTest["admin"], args: readonly string[]): Promise<string> {
  const [, path = "", team = ""] = /^--kubeconfig (\S*\/(team-[ab])\.kubeconfig) /.exec(args.join(" ")) ?? [];
  const [, name = "", key = "", file = ""] =
    /create secret generic (\S+) --from-file=(\w+)=(\S+)$/.exec(args.join(" ")) ?? [];
  expect(path).not.toBe("");
  const stringData = { [key]: await readFile(file, "utf8") };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData };
  const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
  await admin.at(`/clusters/root:${team}`).create(secrets, secret);
  return `secret/${name} created\n`;
}
