import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { dump } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadCliKubeconfig } from "../../src/kubeconfig/cli-kubeconfig.ts";
import { parseKubeconfig } from "../../src/kubeconfig/kubeconfig.ts";
import { formatKubeconfig, writeKubeconfig } from "../../src/kubeconfig/kubeconfig-file.ts";
import { createManualClock } from "../../src/manual-clock.ts";
import { mergeCases, rejectedFiles, withCase } from "./merge-cases.ts";

const authority = createCertificateAuthority();
const mine = authority.issueClient({ name: "me" });
const base64 = (text: string) => Buffer.from(text).toString("base64");

type Parts = { cluster?: object; user?: object; context?: object; file?: object };
const aKubeconfig = ({ cluster, user, context, file }: Parts = {}): string =>
  dump({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "demo",
    contexts: [{ name: "demo", context: { cluster: "kcp", user: "jane", ...context } }],
    clusters: [{ name: "kcp", cluster: { server: "https://kcp.example:6443/clusters/root:demo/", ...cluster } }],
    users: [{ name: "jane", user: { token: "s3cret", ...user } }],
    ...file,
  });
const clustersOf = (name: string) => [{ name, cluster: { server: "https://kcp.example:6443" } }];
const messageOf = (text: string, options: Parameters<typeof parseKubeconfig>[1] = { allow: "data-only" }): string => {
  try {
    parseKubeconfig(text, options);
  } catch (error) {
    return error instanceof Error ? error.message : "not an error";
  }
  return "accepted";
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  await writeFile(join(folder, "ca.pem"), authority.certificate);
  await writeFile(join(folder, "token"), "one\n");
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe("a kubeconfig", () => {
  test("is resolved to the endpoint of its current context from its data alone", async () => {
    const text = aKubeconfig({
      cluster: { "certificate-authority-data": base64(authority.certificate), "tls-server-name": "api" },
      user: {
        "client-certificate-data": base64(mine.certificate),
        "client-key-data": base64(mine.key),
        as: "joe",
        "as-groups": ["a", "b"],
      },
      context: { namespace: "shop" },
    });
    const { context, namespace, endpoint } = parseKubeconfig(text, { allow: "data-only" });
    const { token, ...rest } = endpoint;
    expect([context, namespace, await token?.()]).toEqual(["demo", "shop", "s3cret"]);
    expect(rest).toEqual({
      server: "https://kcp.example:6443/clusters/root:demo",
      ca: authority.certificate,
      certificate: mine.certificate,
      key: mine.key,
      serverName: "api",
      impersonate: { user: "joe", groups: ["a", "b"] },
    });
  });

  test("can be JSON", () => {
    const json = JSON.stringify({
      contexts: [{ name: "c", context: { cluster: "k" } }],
      clusters: [{ name: "k", cluster: { server: "https://a.example" } }],
    });
    const { endpoint } = parseKubeconfig(json, { allow: "data-only", context: "c" });
    expect(endpoint).toEqual({ server: "https://a.example" });
  });

  test("may refer to files if that is allowed, and a rotated token file is read again", async () => {
    const clock = createManualClock();
    const text = aKubeconfig({ cluster: { "certificate-authority": "ca.pem" }, user: { tokenFile: "token" } });
    const { endpoint } = parseKubeconfig(text, { allow: "files", directory: folder, clock });
    expect([endpoint.ca, await endpoint.token?.()]).toEqual([authority.certificate, "one"]);
    await writeFile(join(folder, "token"), "two\n");
    expect(await endpoint.token?.()).toBe("one");
    clock.advance(11_000);
    expect(await endpoint.token?.()).toBe("two");
  });

  const refused: [string, Parts, string][] = [
    ["a program", { user: { exec: { command: "aws" } } }, "exec runs a program"],
    ["a login helper", { user: { "auth-provider": { name: "oidc" } } }, "auth-provider runs a login of its own"],
    ["a certificate's file", { user: { "client-certificate": "x" } }, "client-certificate names a file"],
    ["a key's file", { user: { "client-key": "x" } }, "client-key names a file"],
    ["a token's file", { user: { tokenFile: "x" } }, "tokenFile names a file"],
    ["a password", { user: { username: "a", password: "hunter2" } }, "username password login is not supported"],
    ["an authority's file", { cluster: { "certificate-authority": "x" } }, "certificate-authority names a file"],
    [
      "an unchecked server",
      { cluster: { "insecure-skip-tls-verify": true } },
      "insecure-skip-tls-verify turns off the check of the server",
    ],
    ["a proxy", { cluster: { "proxy-url": "http://p" } }, "proxy-url is not supported"],
    ["plain http", { cluster: { server: "http://127.0.0.1:1" } }, "server is not https"],
  ];
  test.each(refused)("from another party is rejected for %s", (_, parts, why) => {
    const message = messageOf(aKubeconfig(parts));
    expect(message).toContain(why);
    expect(message).not.toMatch(/s3cret|hunter2/);
  });

  test("with thousands of contexts gets a short error", () => {
    const contexts = Array.from({ length: 3_000 }, (_, at) => ({ name: `${at}-${"x".repeat(200)}`, context: {} }));
    const message = messageOf(aKubeconfig({ file: { "current-context": "y".repeat(2_000), contexts } }));
    expect(message).toMatch(/not found; there are "0-x.*…", .* 2995 more$/);
    expect(message.length).toBeLessThan(1_000);
  });

  test("with several rejected fields gets one error that names them all", () => {
    const text = aKubeconfig({ cluster: { "insecure-skip-tls-verify": true }, user: { exec: {}, tokenFile: "x" } });
    expect(messageOf(text)).toBe(
      'kubeconfig: context "demo": insecure-skip-tls-verify turns off the check of the server; exec runs a program; tokenFile names a file',
    );
  });

  const wrong: [string, string, string][] = [
    ["is not yaml", "a: [1,\ntoken: s3cret", "kubeconfig: is not yaml in line"],
    ["is no mapping", "- a", "kubeconfig: is not a mapping"],
    ["has no context", aKubeconfig({ file: { "current-context": "" } }), 'no context chosen; there are "demo"'],
    [
      "lacks its context",
      aKubeconfig({ file: { "current-context": "x" } }),
      'context "x": not found; there are "demo"',
    ],
    ["lacks its cluster", aKubeconfig({ context: { cluster: "x" } }), 'cluster "x": not found; there are "kcp"'],
    ["has half a certificate", aKubeconfig({ user: { "client-key-data": base64(mine.key) } }), "come only together"],
    [
      "has no pem",
      aKubeconfig({ cluster: { "certificate-authority-data": "AAAA" } }),
      "certificate-authority-data: is not pem",
    ],
    ["has credentials in its url", aKubeconfig({ cluster: { server: "https://a:s3cret@b" } }), "has credentials"],
    [
      "has a server address that is too long",
      aKubeconfig({ cluster: { server: `https://h/x${"/".repeat(120_000)}x` } }),
      "server: is longer than 2048 characters",
    ],
    [
      "has a token that is too long",
      aKubeconfig({ user: { token: "s3cret".repeat(20_000) } }),
      "token: is longer than",
    ],
    [
      "has groups that are too long",
      aKubeconfig({ user: { as: "me", "as-groups": Array.from({ length: 500 }, (_, at) => `group-${at}`) } }),
      "as-groups: is longer than 2048 characters",
    ],
    ["has a number for a token", aKubeconfig({ user: { token: 5 } }), "token: is not text"],
  ];
  test.each(wrong)("that %s is rejected without a secret in the message", (_, text, why) => {
    const message = messageOf(text, { allow: "files" });
    expect(message).toContain(why);
    expect(message).not.toContain("s3cret");
  });
});

describe("a written kubeconfig", () => {
  const contexts = [
    {
      name: "demo",
      endpoint: { server: "https://127.0.0.1:6443/clusters/root:demo", ca: authority.certificate },
      token: "t",
      namespace: "default",
    },
    {
      name: "root",
      endpoint: { server: "https://127.0.0.1:6443/clusters/root", ca: authority.certificate, ...mine },
    },
  ];

  test("has the same content when it is read back", async () => {
    const text = formatKubeconfig({ contexts });
    const demo = parseKubeconfig(text, { allow: "data-only" });
    expect([demo.context, demo.namespace, demo.endpoint.ca, await demo.endpoint.token?.()]).toEqual([
      "demo",
      "default",
      authority.certificate,
      "t",
    ]);
    const root = parseKubeconfig(text, { allow: "data-only", context: "root" });
    expect(root.endpoint).toMatchObject(contexts[1]?.endpoint ?? {});
  });

  test("can be read by its owner only, and leaves no temporary file", async () => {
    const path = join(folder, "deep", "kcp.kubeconfig");
    await writeKubeconfig(path, { contexts, currentContext: "root" });
    await writeKubeconfig(path, { contexts, currentContext: "root" });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, "utf8")).toContain("current-context: root");
  });
});

describe("the kubeconfig of a user", () => {
  test("is merged from several files, and its exec plugin is run for a token", async () => {
    const first = join(folder, "first");
    const second = join(folder, "second");
    await writeFile(
      first,
      aKubeconfig({ file: { users: [], contexts: [{ name: "demo", context: { cluster: "kcp", user: "runs" } }] } }),
    );
    const credential = {
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token: "ran" },
    };
    const args = ["-e", `console.log(${JSON.stringify(JSON.stringify(credential))})`];
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args };
    await writeFile(
      second,
      dump({
        contexts: [{ name: "other", context: { cluster: "kcp2", namespace: "n" } }],
        clusters: [
          {
            name: "kcp2",
            cluster: { server: "https://b.example", "certificate-authority-data": base64(authority.certificate) },
          },
        ],
        users: [{ name: "runs", user: { exec } }],
      }),
    );
    const paths = [first, second].join(delimiter);
    const demo = await loadCliKubeconfig({ paths });
    expect([demo.context, demo.endpoint.server, await demo.endpoint.token?.()]).toEqual([
      "demo",
      "https://kcp.example:6443/clusters/root:demo",
      "ran",
    ]);
    const other = await loadCliKubeconfig({ paths, context: "other" });
    expect([other.endpoint.ca, other.namespace, other.endpoint.token]).toEqual([authority.certificate, "n", undefined]);
    await expect(loadCliKubeconfig({ paths, context: "x" })).rejects.toThrow('context "x": not found');
  });

  test("that does not exist is named in the error", async () => {
    await expect(loadCliKubeconfig({ file: join(folder, "none") })).rejects.toThrow(/none": no such file$/);
    await expect(loadCliKubeconfig({ paths: join(folder, "none") })).rejects.toThrow(/none": no such file$/);
    const paths = [join(folder, "none"), "", join(folder, "nothing")].join(delimiter);
    await expect(loadCliKubeconfig({ paths })).rejects.toThrow(/^no kubeconfig found: ".*none", ".*nothing"$/);
    await expect(loadCliKubeconfig({ paths: delimiter })).rejects.toThrow("no kubeconfig found: no path given");
  });

  test("is one file if --kubeconfig names it, even with a colon in its name", async () => {
    const file = join(folder, "a:b");
    await writeFile(file, aKubeconfig());
    expect((await loadCliKubeconfig({ file, paths: join(folder, "none") })).context).toBe("demo");
  });

  test("may name a file with the token, relative to its own folder", async () => {
    const file = join(folder, "with-token-file");
    await writeFile(file, aKubeconfig({ user: { token: "s3cret", tokenFile: "token" } }));
    const { endpoint } = await loadCliKubeconfig({ file });
    expect(await endpoint.token?.()).toBe((await readFile(join(folder, "token"), "utf8")).trim());
  });

  test("is not rejected because of an entry that the context does not use", async () => {
    const file = join(folder, "with-others");
    const users = [
      { name: "jane", user: { token: "mine" } },
      { name: "gone", user: { tokenFile: "gone" } },
    ];
    await writeFile(file, aKubeconfig({ file: { users, clusters: [...clustersOf("kcp"), { name: "no-server" }] } }));
    expect(await (await loadCliKubeconfig({ file })).endpoint.token?.()).toBe("mine");
  });

  test.each(mergeCases)("of $name is read as kubectl reads it", async (mergeCase) => {
    await withCase(mergeCase, async ({ paths }) => {
      const { context, namespace, endpoint } = await loadCliKubeconfig({ paths });
      const seen = {
        context,
        namespace,
        server: endpoint.server,
        token: await endpoint.token?.(),
        ca: endpoint.ca,
        serverName: endpoint.serverName,
      };
      expect(JSON.parse(JSON.stringify(seen))).toEqual(mergeCase.expected);
    });
  });

  test.each(rejectedFiles)("is rejected for a file that $name, although another one suffices", async (rejected) => {
    await withCase(rejected, async ({ paths }) => {
      await expect(loadCliKubeconfig({ paths })).rejects.toThrow(rejected.expected);
    });
  });
});
