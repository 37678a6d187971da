import { describe, expect, test } from "vitest";
import { runKubectl } from "../../../../test/real/kubectl.ts";
import { realServers } from "../../../../test/real/servers.ts";
import { mergeCases, rejectedFiles, withCase } from "./merge-cases.ts";

const { kubectl } = realServers();

/** The part of a kubeconfig that `kubectl config view --minify` prints. */
type View = Readonly<{
  contexts: readonly Readonly<{ name: string; context: Readonly<{ namespace?: string }> }>[];
  clusters: readonly Readonly<{
    cluster: Readonly<{ server: string; "certificate-authority-data"?: string; "tls-server-name"?: string }>;
  }>[];
  users: readonly Readonly<{ user: Readonly<{ token?: string }> }>[];
}>;

const view = "config view --raw --minify --flatten -o json".split(" ");

describe("the rules of kubeconfigs, for kubectl", () => {
  test.each(mergeCases)("hold for $name", async (mergeCase) => {
    await withCase(mergeCase, async ({ paths }) => {
      const current = await runKubectl(["config", "current-context"], { kubectl, kubeconfig: paths });
      expect(current).toMatchObject({ code: 0, stdout: `${mergeCase.expected.context}\n` });
      const { code, stdout, stderr } = await runKubectl(view, { kubectl, kubeconfig: paths });
      expect([code, stderr]).toEqual([0, ""]);
      const { contexts, clusters, users }: View = JSON.parse(stdout);
      const cluster = clusters[0]?.cluster;
      const ca = cluster?.["certificate-authority-data"];
      const seen = {
        context: contexts[0]?.name,
        namespace: contexts[0]?.context.namespace,
        server: cluster?.server,
        token: users[0]?.user.token,
        ca: ca === undefined ? undefined : Buffer.from(ca, "base64").toString("utf8"),
        serverName: cluster?.["tls-server-name"],
      };
      expect(JSON.parse(JSON.stringify(seen))).toEqual(mergeCase.expected);
    });
  });

  test.each(rejectedFiles)("reject a file that $name", async (rejected) => {
    await withCase(rejected, async ({ paths }) => {
      const { code, stderr } = await runKubectl(["config", "current-context"], { kubectl, kubeconfig: paths });
      expect([code, stderr]).toEqual([1, expect.stringContaining("error loading config file")]);
    });
  });
});
