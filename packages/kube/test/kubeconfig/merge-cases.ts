import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { dump } from "js-yaml";

const certificateAuthority = createCertificateAuthority();

/** What both kubectl and `loadCliKubeconfig` find in the current context. */
export type Found = Readonly<{
  context: string;
  namespace?: string;
  server: string;
  token?: string;
  ca?: string;
  serverName?: string;
}>;

/** Files by their path in a folder, and the list of the variable KUBECONFIG; `nothing` is a path without a file. */
type Files = Readonly<{ name: string; files: Readonly<Record<string, string>>; list: readonly string[] }>;

type Content = Readonly<{
  current?: string | null;
  contexts?: Readonly<Record<string, object>>;
  clusters?: Readonly<Record<string, object>>;
  users?: Readonly<Record<string, object>>;
}>;

function aFile({ current, contexts = {}, clusters = {}, users = {} }: Content): string {
  return dump({
    ...(current === undefined ? {} : { "current-context": current }),
    contexts: Object.entries(contexts).map(([name, context]) => ({ name, context })),
    clusters: Object.entries(clusters).map(([name, cluster]) => ({ name, cluster })),
    users: Object.entries(users).map(([name, user]) => ({ name, user })),
  });
}

const one = {
  current: "one",
  contexts: { one: { cluster: "one", user: "one" } },
  clusters: { one: { server: "https://one.example" } },
  users: { one: { token: "1" } },
};
const two = {
  current: "two",
  contexts: { two: { cluster: "two", user: "two", namespace: "shop" } },
  clusters: { two: { server: "https://two.example" } },
  users: { two: { token: "2" } },
};
const foundOne = { context: "one", server: "https://one.example", token: "1" };
const foundTwo = { context: "two", namespace: "shop", server: "https://two.example", token: "2" };

/** kubectl's rules, one by one; a unit test and a test with a real kubectl use them. */
export const mergeCases: readonly (Files & Readonly<{ expected: Found }>)[] = [
  {
    name: "two files with a current context each, the first of which wins",
    files: { a: aFile(one), b: aFile(two) },
    list: ["a", "b"],
    expected: foundOne,
  },
  {
    name: "the same two files in the other order",
    files: { a: aFile(one), b: aFile(two) },
    list: ["b", "a"],
    expected: foundTwo,
  },
  {
    name: "a first file without a current context",
    files: { a: aFile({ ...one, current: "" }), b: aFile(two), c: aFile({ ...two, current: "one" }) },
    list: ["a", "b", "c"],
    expected: foundTwo,
  },
  {
    name: "a first file whose current context is null",
    files: { a: aFile({ ...one, current: null }), b: aFile(two) },
    list: ["a", "b"],
    expected: foundTwo,
  },
  {
    name: "a list with files that do not exist",
    files: { a: aFile(one) },
    list: ["nothing", "a", "nothing/there"],
    expected: foundOne,
  },
  {
    name: "a list with empty entries and a file named twice",
    files: { a: aFile(one), b: aFile(two) },
    list: ["", "a", "", "a", "b", ""],
    expected: foundOne,
  },
  {
    name: "an empty file before one with content",
    files: { a: "", b: "# nothing yet\n", c: aFile(one) },
    list: ["a", "b", "c"],
    expected: foundOne,
  },
  {
    name: "two files with the same names, which are not combined",
    files: {
      a: aFile(one),
      b: aFile({
        current: "one",
        contexts: { one: { cluster: "other", user: "other", namespace: "other" } },
        clusters: { one: { server: "https://other.example", "tls-server-name": "other" } },
        users: { one: { tokenFile: "other" } },
      }),
    },
    list: ["a", "b"],
    expected: foundOne,
  },
  {
    name: "a context that names a cluster and a user of other files",
    files: {
      a: aFile({ contexts: one.contexts, current: "one" }),
      b: aFile({ clusters: { one: { server: "https://b.example", "tls-server-name": "b" } } }),
      c: aFile({ users: one.users, clusters: one.clusters }),
    },
    list: ["a", "b", "c"],
    expected: { context: "one", server: "https://b.example", token: "1", serverName: "b" },
  },
  {
    name: "a file in another folder with a relative path",
    files: {
      a: aFile({ ...one, current: "two" }),
      "folder/b": aFile({
        ...two,
        clusters: { two: { server: "https://two.example", "certificate-authority": "../pki/ca.pem" } },
      }),
      "pki/ca.pem": certificateAuthority.certificate,
    },
    list: ["a", "folder/b"],
    expected: { ...foundTwo, ca: certificateAuthority.certificate },
  },
];

/** Files that make the whole list unusable, for kubectl too. */
export const rejectedFiles: readonly (Files & Readonly<{ expected: RegExp }>)[] = [
  {
    name: "is not YAML",
    files: { a: aFile(one), b: "contexts: [" },
    list: ["a", "b"],
    expected: /kubeconfig ".*b": is not yaml/,
  },
  {
    name: "is a list",
    files: { a: aFile(one), b: "- a" },
    list: ["a", "b"],
    expected: /kubeconfig ".*b": is not a mapping$/,
  },
  {
    name: "is an object of another kind",
    files: { a: aFile(one), b: "apiVersion: v1\nkind: Pod\n" },
    list: ["a", "b"],
    expected: /kubeconfig ".*b": kind is "Pod", not "Config"$/,
  },
  {
    name: "has one name twice",
    files: { a: aFile(one), b: dump({ clusters: [one, two].map(() => ({ name: "c", cluster: { server: "" } })) }) },
    list: ["a", "b"],
    expected: /kubeconfig ".*b": clusters: "c" is there twice$/,
  },
  {
    name: "has a number for a context",
    files: { a: aFile({ ...one, current: "" }), b: "current-context: 5" },
    list: ["a", "b"],
    expected: /kubeconfig ".*b": current-context: is not text$/,
  },
];

/** Writes the files of a case into a folder, for the time of a function that gets the value of KUBECONFIG. */
export async function withCase<T>(
  { files, list }: Files,
  work: (written: Readonly<{ paths: string }>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "kubeconfig-merge-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    return await work({ paths: list.map((name) => (name === "" ? "" : join(folder, name))).join(delimiter) });
  } finally {
    await rm(folder, { recursive: true });
  }
}
