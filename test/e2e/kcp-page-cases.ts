import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workspaces } from "../../lib/kcp/kcp-types.ts";
import { ensureWorkspace } from "../../lib/kcp/workspaces.ts";
import type { KubeObject } from "../../lib/model/kube-object.ts";
import { eventuallyGone } from "../contract/vocabulary.ts";
import { tmc } from "../lib/cli/support.ts";
import type { KcpUnderTest } from "./kcp-under-test.ts";

/** A command of the page, what is fed to it, and what it is said to print. */
type Command = Readonly<{ line: string; input: string; printed: string }>;

/** Runs a kubectl command with its input; answers what it prints. */
export type Kubectl = (kubeconfig: string, args: readonly string[], input: string) => Promise<string>;

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
  text.replace(/(v\d\w*)-[0-9a-f]{8}\./g, "$1-….").replace(/(by tmc\.kcp\.io)-[0-9a-z]+/g, "$1-…");

/** Every command of docs/kcp.md prints what the page says. */
export function kcpPageCases(
  title: string,
  { start, kubectl }: Readonly<{ start: () => Promise<KcpUnderTest>; kubectl: (kcp: KcpUnderTest) => Kubectl }>,
): void {
  describe(title, async () => {
    const commands = parsePage(await readFile(new URL("../../docs/kcp.md", import.meta.url), "utf8"));
    let kcp: KcpUnderTest;
    let folder = "";
    let kubeconfig = "";
    beforeAll(async () => {
      kcp = await start();
      folder = await mkdtemp(join(tmpdir(), "tmc-page-"));
      kubeconfig = await kcp.writeKubeconfig(folder);
    }, 60_000);
    afterAll(async () => {
      const root = kcp.admin.at("/clusters/root");
      for (const name of ["team-a", "team-b"]) {
        await root.delete({ type: workspaces, name }).catch(() => {});
        await eventuallyGone(root, { type: workspaces, name }, 60_000);
      }
      await kcp.stop();
      await rm(folder, { recursive: true, force: true });
    }, 150_000);

    it("has commands", () => {
      expect(commands.length).toBeGreaterThan(8);
    });

    it.each(commands.map((command) => [command.line, command] as const))(
      "%s",
      async (_, { line, input, printed }) => {
        const [program, ...words] = line.split(" ");
        const args = words.map((word) => (word === "secrets" ? join(folder, word) : word));
        let answer = "";
        if (program === "kubectl") {
          answer = await kubectl(kcp)(kubeconfig, args, input);
          const { metadata } = load(input) as KubeObject;
          // The next command is typed by a person, for whom a workspace is ready at once.
          await ensureWorkspace(kcp.admin, `root:${metadata.name}`);
        } else {
          const { out, err } = await tmc(args, { env: { KUBECONFIG: kubeconfig } });
          answer = (out + err).replaceAll(`${folder}/`, "");
        }
        expect(settled(answer)).toBe(settled(printed));
      },
      120_000,
    );
  });
}

/** `kubectl create -f -`, for where there is no kubectl. */
export const createByHand =
  ({ admin }: KcpUnderTest): Kubectl =>
  async (_, args, input) => {
    expect(args).toEqual(["create", "-f", "-"]);
    const object = load(input) as KubeObject;
    const { metadata } = await admin.at("/clusters/root").create({ type: workspaces }, object);
    return `${object.kind.toLowerCase()}.${workspaces.group}/${metadata.name} created\n`;
  };
