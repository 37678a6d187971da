import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { errorOfResponse, oneLine } from "@tmc/kube/errors.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { normalizeBasePath, parseServerAddress } from "@tmc/kube/kubeconfig/server-address.ts";
import { diffMergePatch } from "@tmc/kube/merge-patch.ts";
import { parseQuantity } from "@tmc/kube/quantity.ts";
import { matchesLabels, parseFieldSelector, parseLabelSelector, selectorFromObject } from "@tmc/kube/selector.ts";
import { createLineSplitter } from "@tmc/kube/transport/json-lines.ts";
import { expect, test } from "vitest";
import { unregisteredErrors } from "../../lib/api/annotations.ts";
import { parseCredentialText } from "../../lib/credentials/credential-text.ts";
import { credentialLifetime } from "../../lib/credentials/credentials.ts";
import { addressRejection, serverRejection } from "../../lib/credentials/endpoint-rules.ts";
import { parseHeartbeat } from "../../lib/lambda/messages.ts";
import { parseStringFields } from "../../lib/model/json.ts";
import { parseWorkKey, parseWorkloadKey } from "../../lib/model/key.ts";
import { labelsWithDerivedKeys } from "../../lib/model/location-keys.ts";
import { redactText } from "../../lib/model/redact.ts";
import { parseDurationSeconds, parseTimestamp } from "../../lib/model/timestamp.ts";
import { parseSpec } from "../../lib/placement/parsed-spec.ts";
import { parseUnmatched } from "../../lib/placement/status.ts";
import { parseVersion } from "../../lib/placement/versions.ts";
import { parseBody } from "../../lib/queue/work-message.ts";
import { parseConditions } from "../../lib/sources/view.ts";
import { controlAnnotations, controlsOf } from "../../lib/sync/control-annotations.ts";
import { applyOverrides } from "../../lib/sync/desired/overrides/apply.ts";
import { statusStrategyAnnotation, strategyOf } from "../../lib/sync/status/strategy.ts";
import { adversarialInputs } from "../support/adversarial-input.ts";

const manifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop" },
  spec: { template: { spec: { containers: [{ name: "web", image: "nginx" }] } } },
};
const targetCluster: Parameters<typeof applyOverrides>[2] = {
  name: "east",
  location: "eu",
  labels: new Map([["zone", "a"]]),
  isReady: true,
  isDeleting: false,
  isDrained: false,
  lastHeartbeat: undefined,
  apis: undefined,
  milliCpu: undefined,
};
const asJson = (text: string): object => {
  const value: unknown = JSON.parse(text);
  return typeof value === "object" && value !== null ? value : { value };
};
const jwt = (payload: string): string => `h.${Buffer.from(payload).toString("base64url")}.s`;

/** Every parser of text that a tenant, or a server that a tenant named, has written. A parser may reject a text with an error. */
const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  parseKubeconfig: (text) => parseKubeconfig(text, { allow: "data-only" }),
  "parseKubeconfig, of a server": (server) => parseKubeconfig(kubeconfigOf(server), { allow: "data-only" }),
  parseCredentialText,
  parseServerAddress,
  "parseServerAddress, of a path": (text) => parseServerAddress(`https://h/${text}`),
  normalizeBasePath,
  serverRejection: (text) => serverRejection(text, { allowPrivateEndpoints: true }),
  addressRejection: (text) => addressRejection(text, {}),
  "credentialLifetime, of a token": (token) => credentialLifetime({ token }),
  "credentialLifetime, of claims": (claims) => credentialLifetime({ token: jwt(claims) }),
  "credentialLifetime, of a certificate": (certificate) => credentialLifetime({ certificate }),
  parseLabelSelector,
  parseFieldSelector,
  "selectorFromObject, of a value": (value) => selectorFromObject({ matchLabels: { a: value } }),
  "selectorFromObject, of a key": (key) => selectorFromObject({ matchExpressions: [{ key, operator: "Exists" }] }),
  "matchesLabels, of a number": (value) => matchesLabels(parseLabelSelector("a>5"), { a: value }),
  parseQuantity,
  labelsWithDerivedKeys: (text) => labelsWithDerivedKeys({ env: text }, text),
  parseDurationSeconds,
  parseVersion,
  parseTimestamp,
  parseStringFields: (text) => parseStringFields(text, ["hub", "name"]),
  parseWorkloadKey: (name) => parseWorkloadKey({ name }),
  parseWorkKey,
  parseBody,
  parseHeartbeat,
  parseConditions: (text) =>
    parseConditions({ status: { conditions: [{ status: "True", type: text, message: text }] } }),
  parseUnmatched,
  parseSpec: (text) =>
    parseSpec({
      metadata: { name: "p", annotations: { "tmc.kcp.io/preferred-cluster": text } },
      spec: {
        capabilityRequirements: [{ type: text, minVersion: text }],
        tolerations: [{ key: text, operator: "Exists" }],
      },
    }),
  "parseSpec, of a quantity": (cpu) => parseSpec({ metadata: { name: "p" }, spec: { resources: { cpu } } }),
  "parseSpec, of a selector": (text) =>
    parseSpec({ metadata: { name: "p" }, spec: { locationSelector: { matchLabels: { [text]: text } } } }),
  "applyOverrides, of a template": (value) => applyOverrides(manifest, [{ env: { A: value } }], targetCluster),
  "applyOverrides, of a label": (value) => applyOverrides(manifest, [{ labels: { a: value } }], targetCluster),
  "applyOverrides, of an image": (to) => applyOverrides(manifest, [{ imageHosts: [{ to }] }], targetCluster),
  "applyOverrides, of a limit": (cpu) => applyOverrides(manifest, [{ limits: { cpu } }], targetCluster),
  "applyOverrides, of a patch": (text) =>
    // The schema allows a path of 1,024 characters.
    applyOverrides(
      manifest,
      [{ patches: [{ op: "add", path: `/spec/${text.slice(0, 1_000)}`, value: text }] }],
      targetCluster,
    ),
  unregisteredErrors: (text) => unregisteredErrors({ names: text }, ["names"], () => false),
  controlsOf: (text) =>
    controlsOf({
      metadata: { annotations: { [controlAnnotations.sync]: text, [controlAnnotations.targetClusters]: text } },
    }),
  strategyOf: (text) => strategyOf({ [statusStrategyAnnotation]: text }),
  diffMergePatch: (text) => diffMergePatch(asJson(text), { ...asJson(text), other: 1 }),
  errorOfResponse: (text) =>
    errorOfResponse("get", { status: 500, headers: { "content-type": "text/plain", "retry-after": text }, text }, 0),
  "errorOfResponse, of a Status": (message) =>
    errorOfResponse("get", { status: 500, headers: {}, text: JSON.stringify({ kind: "Status", message }) }, 0),
  oneLine,
  redactText,
  createLineSplitter: (text) => createLineSplitter().push(text),
  "JSON.parse": (text) => JSON.parse(text),
};

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c" } }],
    clusters: [{ name: "c", cluster: { server } }],
  });
}

/** Four times as long at each step. The longest is half of what a kubeconfig may have. */
const lengths = [8 * 1024, 32 * 1024, 128 * 1024] as const;
/** CPU time of this thread, so that other processes do not count. Shorter times are noise: compilation, garbage collection. */
const noiseMs = 25;
/** A parser of linear time needs four times as long for four times the text, one of quadratic time sixteen times. */
const maxGrowth = 9;
/** For the longest text. YAML needs about 30 ms. */
const maxMs = 400;
/** Objects that a text of 128 KB may become. JSON of empty lists takes 20 times its length. */
const maxHeapBytes = 64 * 1024 * 1024;
/** A measurement above its limit is repeated, and the smallest counts. */
const tries = 4;

function measure(parse: (text: string) => unknown, text: string): Readonly<{ cpuMs: number; heapBytes: number }> {
  const heapBefore = process.memoryUsage().heapUsed;
  const before = process.threadCpuUsage();
  let result: unknown;
  try {
    result = parse(text);
  } catch (error) {
    result = error;
  }
  const { user, system } = process.threadCpuUsage(before);
  const heapBytes = process.memoryUsage().heapUsed - heapBefore;
  return { cpuMs: (user + system) / 1000, heapBytes: result === undefined ? 0 : heapBytes };
}

/** What is wrong with the costs of a parser; undefined if they are within the limits. */
function costProblem(parse: (text: string) => unknown, textOf: (length: number) => string): string | undefined {
  let shorterMs = noiseMs;
  for (const length of lengths) {
    const text = textOf(length);
    const limitMs = Math.min(maxMs, Math.max(noiseMs, shorterMs) * maxGrowth);
    let best = measure(parse, text);
    const isWithin = (): boolean => best.cpuMs <= limitMs && best.heapBytes <= maxHeapBytes;
    for (let again = 1; again < tries && !isWithin(); again += 1) {
      const { cpuMs, heapBytes } = measure(parse, text);
      best = { cpuMs: Math.min(cpuMs, best.cpuMs), heapBytes: Math.min(heapBytes, best.heapBytes) };
    }
    if (best.cpuMs > limitMs) {
      return `${text.length} characters take ${Math.round(best.cpuMs)} ms, more than ${Math.round(limitMs)} ms`;
    }
    if (best.heapBytes > maxHeapBytes) return `${text.length} characters take ${best.heapBytes} bytes of memory`;
    shorterMs = best.cpuMs;
  }
  return undefined;
}

const texts = new Map(
  adversarialInputs.map(({ name, text }) => [name, new Map(lengths.map((length) => [length as number, text(length)]))]),
);

test.each(Object.entries(parsers))("%s takes linear time and little memory for adversarial input", (_name, parse) => {
  const problems = [...texts].flatMap(([name, byLength]) => {
    const problem = costProblem(parse, (length) => byLength.get(length) ?? "");
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });
  expect(problems).toEqual([]);
});

const operator = "the operator writes it";
const limited = "JSON.parse of a response, which is tested; the client limits its length";

/** Modules with a parser that is not in the table, and why. */
const exempt: Readonly<Record<string, string>> = {
  "lib/controller/flags.ts": operator,
  "lib/controller/settings-lease.ts": "JSON.parse of what another controller has written",
  "lib/credentials/eks-credentials.ts": "AWS sends it",
  "lib/credentials/file-credentials.ts": operator,
  "lib/downstream/copy-cache.ts": "JSON.parse of what the cache itself has serialized",
  "lib/downstream/crds.ts": limited,
  "lib/downstream/namespace-contents.ts": limited,
  "lib/downstream/redacting-client.ts": "JSON.parse of a Status that was parsed from a response",
  "lib/install/account-token.ts": operator,
  "lib/lambda/emf-metrics.ts": "JSON.parse of labels that it has serialized itself",
  "lib/model/text.ts": "BigInt of a hash",
  "lib/model/version.ts": "the package contains it",
  "lib/observe/log.ts": operator,
  "lib/placement/what-if.ts": "an argument of the command line",
  "lib/queue/queue-stats.ts": "AWS sends it",
  "lib/registration/probe.ts": limited,
  "lib/registration/served-apis.ts": limited,
  "lib/sources/flags.ts": operator,
  "lib/sources/secret-template.ts": operator,
  "lib/sync/desired/overrides/images.ts": "tested through applyOverrides",
  "lib/sync/desired/replicas.ts": "BigInt of a number",
  "lib/sync/eviction/deletion-guard-settings.ts": operator,
  "lib/upstream/custom-types.ts": operator,
  "lib/upstream/export/address.ts": operator,
  "packages/kube/src/kubeconfig/kubeconfig-file.ts": "it writes YAML",
  "packages/kube/src/rest-client.ts": limited,
  "packages/kube/src/transport/watch-once.ts": limited,
};

test("every module that parses text is in the table of parsers, or is exempt with a reason", () => {
  const root = join(import.meta.dirname, "../..");
  const sources = ["lib", "packages/kube/src"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.startsWith("cli/")) // commands parse the arguments of their user
      .map((file) => `${folder}/${file}`),
  );
  const table = readFileSync(import.meta.filename, "utf8");
  const isTested = (path: string): boolean =>
    table.includes(`"../../${path}"`) || table.includes(`"${path.replace("packages/kube/src/", "@tmc/kube/")}"`);
  const parsing = sources.filter((path) =>
    /export function parse[A-Z]|JSON\.parse\(|from "js-yaml"|\bBigInt\([a-z`]/.test(
      readFileSync(join(root, path), "utf8"),
    ),
  );
  expect(parsing.filter((path) => !isTested(path) && exempt[path] === undefined)).toEqual([]);
  expect(Object.keys(exempt).filter((path) => !parsing.includes(path))).toEqual([]);
});
