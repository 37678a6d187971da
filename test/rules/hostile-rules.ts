import type { NamedTest, Rule } from "./rule.ts";

const titled = (file: string, ...titles: readonly string[]): NamedTest => ({ file, titles });
const limits = (title: string): NamedTest =>
  titled("packages/kube/test/transport/response-limits.test.ts", "a client of a server that is not trusted", title);

const copyWatches = (title: string): NamedTest =>
  titled("test/lib/downstream/copy-watch.test.ts", "watches on a cluster that a tenant names", title);

const oneTenant = "one tenant stops or kills the process of all tenants";
const innocents = "keys of other tenants become dead letters";
const falseReady = "a status that cannot be written leaves Ready True";
const operatorsCredentials = "a tenant gets the credentials of the operator";

/** Rules that protect tenants from each other. */
export const hostileRules: readonly Rule[] = [
  {
    incident: oneTenant,
    rule: "a server address has a limited length",
    simulation: "not visible: only a hostile answer or object is that large",
    removals: [
      {
        file: "packages/kube/src/kubeconfig/server-address.ts",
        text: "if (server.length > maxServerLength) {",
        without: "if (server.length > 1e9) {",
      },
      {
        file: "packages/kube/src/kubeconfig/kubeconfig.ts",
        text: "if (value.length > maxLength) throw",
        without: "if (value.length > 1e9) throw",
      },
    ],
    test: {
      file: "packages/kube/test/kubeconfig/kubeconfig.test.ts",
      titles: ["a kubeconfig", "that %s is rejected without a secret in the message"],
      rows: ["has a server address that is too long"],
    },
  },
  {
    incident: oneTenant,
    rule: "a quantity has a limited length",
    simulation: "not visible: only a hostile answer or object is that large",
    removals: [
      {
        file: "packages/kube/src/quantity.ts",
        text: "if (text.length > maxQuantityLength) {",
        without: "if (text.length > 1e9) {",
      },
    ],
    test: titled(
      "packages/kube/test/quantity.test.ts",
      "parseQuantity rejects an invalid quantity",
      "more than 40 characters",
    ),
  },
  {
    incident: oneTenant,
    rule: "an answer of a tenant's server has a limited size",
    simulation: "not visible: only a hostile answer or object is that large",
    removals: [
      {
        file: "packages/kube/src/transport/exchange.ts",
        text: "if (bytes > maxBytes) {",
        without: "if (bytes > 1e9) {",
      },
    ],
    test: limits("reads at most 2 MB of an object, of discovery and of a health check"),
  },
  {
    incident: oneTenant,
    rule: "JSON that takes too much memory is not parsed",
    simulation: "not visible: only a hostile answer or object is that large",
    removals: [
      {
        file: "packages/kube/src/transport/exchange.ts",
        text: "if (estimateHeapBytes(text) > limits.heapBytes) {",
        without: "if (estimateHeapBytes(text) > 1e12) {",
      },
    ],
    test: limits("does not parse a page that would take twenty times its length in memory"),
  },
  {
    incident: oneTenant,
    rule: "a list of a tenant's server ends after a number of pages",
    simulation: "not visible: only a hostile server continues a list without end",
    removals: [
      {
        file: "packages/kube/src/transport/list-progress.ts",
        text: "if (after.pages >= limits.listPages)",
        without: "if (after.pages >= 100)",
      },
    ],
    test: {
      file: "packages/kube/test/transport/response-limits.test.ts",
      titles: ["a client of a server that is not trusted", "%s", "ends a list without end by its %s"],
      rows: ["listAll", "pages"],
    },
  },
  {
    incident: oneTenant,
    rule: "the watches of a tenant's server keep a limited number of objects",
    removals: [
      {
        file: "lib/downstream/copy-informer.ts",
        text: "if (error !== undefined) exceeded(error);",
        without: "",
      },
    ],
    test: copyWatches(
      "end when the watch adds more objects than may be kept, and other registrations are watched as before",
    ),
  },
  {
    incident: oneTenant,
    rule: "a list for a watch of a tenant's server keeps a limited number of objects",
    removals: [
      {
        file: "lib/downstream/copy-informer.ts",
        text: "if (error !== undefined) throw error;",
        without: "",
      },
      {
        file: "lib/downstream/copy-informer.ts",
        text: "if (error !== undefined) exceeded(error);",
        without: "",
      },
    ],
    test: copyWatches("end when a list has more objects than may be kept"),
  },
  {
    incident: oneTenant,
    rule: "objects that a list no longer has count as well",
    removals: [
      {
        file: "lib/downstream/copy-cache.ts",
        text: "objects: Number(after !== undefined) - Number(before !== undefined),",
        without: "objects: 0,",
      },
    ],
    test: titled(
      "test/lib/downstream/copy-cache.test.ts",
      "what a cache keeps",
      "is counted with copies that a list lacks, which a server could add without end",
    ),
  },
  {
    incident: oneTenant,
    rule: "the unfinished answers of a tenant's servers share a budget",
    removals: [
      {
        file: "packages/kube/src/transport/byte-budget.ts",
        text: "return isOldest || moreBytes <= 0 || usedBytes + moreBytes <= maxBytes;",
        without: "return isOldest || moreBytes <= 0 || usedBytes + moreBytes <= 1e12 + maxBytes;",
      },
    ],
    test: titled(
      "test/lib/credentials/connections.test.ts",
      "answers in flight",
      "of all servers that a tenant names take at most 32 MB besides the oldest one, and delay no other tenant",
    ),
  },
  {
    incident: innocents,
    rule: "a key that was received before runs alone",
    simulation: "not visible: only a queue outside the process receives a key twice",
    removals: [
      {
        file: "lib/queue/isolate.ts",
        text: "return record.receives > 1 || messageOf(record)?.alone === true;",
        without: "return messageOf(record)?.alone === true;",
      },
    ],
    test: titled(
      "test/lib/queue/isolate.test.ts",
      "a key that kills its process",
      "is the only dead letter also when several of them are in one batch",
    ),
  },
  {
    incident: falseReady,
    rule: "the message of a condition is shortened",
    simulation: "not visible: only a hostile answer makes a message that long",
    removals: [
      {
        file: "lib/model/condition.ts",
        text: "message: clipMessage(decided.message),",
        without: "message: decided.message,",
      },
    ],
    test: titled("test/lib/model/condition.test.ts", "the message of a condition is shortened to 1,024 characters"),
  },
  {
    incident: falseReady,
    rule: "a rejected status is written again with its reasons alone",
    simulation: "not visible: only a hostile answer makes a status that the server rejects",
    removals: [
      {
        file: "lib/upstream/hub-requests.ts",
        text: `const reduced = faultOf(error) === "invalid" ? withReasonsAlone(seen.status, status) : undefined;`,
        without: "const reduced = undefined;",
      },
    ],
    test: titled(
      "test/lib/upstream/fresh-hub.test.ts",
      "a status that the server rejects",
      "a fresh hub writes a status that the server rejects again with its reasons alone",
    ),
  },
  {
    incident: operatorsCredentials,
    rule: "a kubeconfig file of one workspace is not used for another",
    simulation: "not visible: a run reads no kubeconfig files",
    removals: [
      {
        file: "lib/credentials/file-credentials.ts",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template in the source
        text: "kubeconfigs.get(`${workspaceOf(logicalCluster)}/${name}`) ??",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template in the source
        without: "[...kubeconfigs].find(([id]) => id.endsWith(`/${name}`))?.[1] ??",
      },
    ],
    test: titled(
      "test/lib/credentials/credentials.test.ts",
      "credentials from a file",
      "a file for a workspace is not used for a registration of the same name in another workspace",
    ),
  },
];
