import { isIPv4 } from "node:net";
import { parseRanges } from "../lib/credentials/endpoint-rules.ts";
import { credentialProviderNames } from "../lib/engine/environment.ts";
import { defaultConcurrency } from "../lib/engine/settings.ts";
import { defaultTenantEventsPerSecond, maxTenantEventsPerSecond } from "../lib/queue/tenant-rate-limit.ts";
import { defaultDeletionGuardSettings } from "../lib/sync/eviction/deletion-guard.ts";
import { deletionGuardRanges } from "../lib/sync/eviction/deletion-guard-settings.ts";
import { exportAddressForm, formatExportAddress, parseExportAddress } from "../lib/upstream/export/address.ts";
import { hubIdForm, hubIdPattern } from "../lib/upstream/hub-identity.ts";
import { isWorkspaceAddress } from "../lib/upstream/logical-cluster.ts";

/** One setting of a deployment. */
export type SettingField<T> = Readonly<{
  /** One line, for docs/deploy.md. */
  description: string;
  /** The expected format; completes the sentence "… must be". */
  format: string;
  defaultValue: T;
  /** Returns undefined for an invalid value. Context of the command line is always text. */
  parse: (value: unknown) => T | undefined;
}>;

/** Retention periods of CloudWatch Logs. */
export const retentionDays = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

const text = (value: unknown): string | undefined => {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? value.trim() : undefined;
};

const matching = (pattern: RegExp) => (value: unknown) => {
  const given = text(value);
  return given !== undefined && pattern.test(given) ? given : undefined;
};

const oneOf =
  <const Value extends string>(values: readonly Value[]) =>
  (value: unknown): Value | undefined =>
    values.find((known) => known === text(value));

const wholeNumber = (min: number, max: number) => (value: unknown) => {
  const given = text(value) ?? "";
  const number = /^[0-9]{1,6}$/.test(given) ? Number(given) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
};

const boolean = (value: unknown): boolean | undefined => ({ true: true, false: false })[text(value) ?? ""];

/** A list, or comma-separated text; duplicates are removed. */
const listOf =
  <Element extends string>(parse: (value: unknown) => Element | undefined) =>
  (value: unknown): readonly Element[] | undefined => {
    const elements: readonly unknown[] = Array.isArray(value) ? value : (text(value)?.split(",") ?? [undefined]);
    const parsed = elements.filter((element) => element !== "").map(parse);
    const valid = parsed.filter((element) => element !== undefined);
    return valid.length === parsed.length ? [...new Set(valid)] : undefined;
  };

const isRange = (value: string): boolean => {
  try {
    return parseRanges(value).length === 1;
  } catch {
    return false;
  }
};

/** A network with space for two subnets of 16 addresses, the minimum of AWS. */
const network = (value: unknown): string | undefined => {
  const [, address = "", prefix = ""] = /^([0-9.]+)\/(\d\d)$/.exec(text(value) ?? "") ?? [];
  return isIPv4(address) && Number(prefix) >= 16 && Number(prefix) <= 27 ? `${address}/${prefix}` : undefined;
};

/** The name or ARN of a secret whose name does not match the excluded pattern. */
const secretExcept = (excluded: RegExp) => (value: unknown) => {
  const given = text(value) ?? "";
  const [, name = given] =
    /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:(.+)-[A-Za-z0-9]{6}$/.exec(given) ?? [];
  return /^[A-Za-z0-9/_+=.@-]{1,512}$/.test(name) && !excluded.test(name) ? given : undefined;
};

const field = <T>(
  description: string,
  format: string,
  defaultValue: T,
  parse: (value: unknown) => T | undefined,
): SettingField<T> => ({
  description,
  format,
  defaultValue,
  parse,
});

const none: undefined = undefined;
const optional = <T>(
  description: string,
  format: string,
  parse: (value: unknown) => T | undefined,
): SettingField<T | undefined> => field<T | undefined>(description, format, none, parse);

const noStrings: readonly string[] = [];

/** All settings, by path. */
export const settingFields = {
  stage: field(
    "name of this deployment; an account can have several",
    "1 to 20 lower-case letters, digits and -, starting with a letter",
    "dev",
    matching(/^[a-z](?:[a-z0-9-]{0,18}[a-z0-9])?$/),
  ),
  hub: field(
    "kind of the upstream",
    "kcp, or kubernetes for a plain cluster with the CRDs of TMC",
    "kcp",
    oneOf(["kcp", "kubernetes"]),
  ),
  hubId: optional(
    "id of the upstream, which its copies on clusters carry; default: the one that the upstream stores at the first start",
    hubIdForm,
    matching(hubIdPattern),
  ),
  kcpSecret: optional(
    "existing secret with the kubeconfig for the upstream; default `tmc-<stage>-kcp`",
    "the name or full ARN of a secret; not tmc/…/…, which are the secrets of tenants",
    // tmc/<stage>/<hub id>/<logical cluster>/<registration>: a tenant could register a cluster of that name and would get the kubeconfig of kcp.
    secretExcept(/^tmc\/[^/]+\//),
  ),
  kmsKeyArns: field(
    "customer managed KMS keys that encrypt the kubeconfig secrets or the secrets of clusters; functions and relay may use them to decrypt secrets",
    "ARNs of keys, comma-separated or as a list",
    noStrings,
    listOf(matching(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]{1,64}$/)),
  ),
  workspaces: field(
    "workspaces to reconcile",
    "paths like root:org:team, comma-separated or as a list",
    noStrings,
    listOf((value) => (typeof value === "string" && isWorkspaceAddress(value.trim()) ? value.trim() : undefined)),
  ),
  apiExport: optional(
    "instead of workspaces: the APIExport whose tenants are all reconciled",
    exportAddressForm,
    (value) => {
      const address = parseExportAddress(text(value) ?? "");
      return address === undefined ? undefined : formatExportAddress(address);
    },
  ),
  credentialProviders: field(
    "allowed sources of credentials for clusters",
    `any of ${credentialProviderNames.join(", ")}, comma-separated or as a list`,
    credentialProviderNames,
    listOf(oneOf(credentialProviderNames)),
  ),
  allowedEndpoints: field(
    "networks in which clusters may be, besides public addresses",
    "networks like 10.20.0.0/16, comma-separated or as a list",
    noStrings,
    listOf((value) => {
      const range = text(value) ?? "";
      return isRange(range) ? range : undefined;
    }),
  ),
  "relay.mode": field(
    "where the relay runs",
    "fargate, or external for a pod that you run",
    "fargate",
    oneOf(["fargate", "external"]),
  ),
  "relay.image": optional(
    "existing relay image; without it the Dockerfile is built at deploy, which requires Docker",
    "an image like registry/name:tag or registry/name@sha256:…",
    matching(/^[a-z0-9][a-z0-9.:/_-]*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})$/),
  ),
  "relay.kcpSecret": optional(
    "secret with a separate kubeconfig for the relay, whose user only needs list and watch; default `kcpSecret`",
    "the name or full ARN of a secret; not tmc/…, which functions may read",
    secretExcept(/^tmc\//),
  ),
  "relay.watchClusters": field(
    "whether the relay also watches the clusters, so that changes of copies and upsynced objects are seen at once; it then needs the credentials of the clusters",
    "true or false",
    false,
    boolean,
  ),
  "relay.tasks": field("number of relay tasks", "a whole number from 1 to 10", 2, wholeNumber(1, 10)),
  sync: field(
    "whether workloads are synced to the clusters that placements select; otherwise clusters are only selected",
    "true or false",
    true,
    boolean,
  ),
  maxDeletions: field(
    "deletion guard: how many copies of a tenant, or on a cluster, may be deleted at once without confirmation",
    `a whole number from ${deletionGuardRanges.maxDeletions.join(" to ")}`,
    defaultDeletionGuardSettings.maxCopies,
    wholeNumber(...deletionGuardRanges.maxDeletions),
  ),
  maxDeletionsPercent: field(
    "deletion guard: the same limit as a percentage of all copies; ten may always be deleted",
    `a whole number from ${deletionGuardRanges.maxDeletionsPercent.join(" to ")}`,
    defaultDeletionGuardSettings.maxPercent,
    wholeNumber(...deletionGuardRanges.maxDeletionsPercent),
  ),
  tenantEventsPerSecond: field(
    "keys of one tenant that are enqueued per second, if there can be several tenants; 0 for no limit",
    `a whole number from 0 to ${maxTenantEventsPerSecond}`,
    defaultTenantEventsPerSecond,
    wholeNumber(0, maxTenantEventsPerSecond),
  ),
  "vpc.cidr": field(
    "address range of the relay's network, if vpc.id is not set",
    "an IPv4 network like 10.79.0.0/24, from /16 to /27",
    "10.79.0.0/24",
    network,
  ),
  "vpc.id": optional(
    "existing VPC for the relay",
    "an id like vpc-0123456789abcdef0",
    matching(/^vpc-[0-9a-f]{8,17}$/),
  ),
  "vpc.availabilityZones": field(
    "availability zones of the subnets, in the same order",
    "zones like eu-west-1a, comma-separated or as a list",
    noStrings,
    listOf(matching(/^[a-z]{2}(?:-[a-z]+)+-\d[a-z]$/)),
  ),
  "vpc.subnets": field(
    "subnets of that VPC, one per availability zone",
    "ids like subnet-0123456789abcdef0, comma-separated or as a list",
    noStrings,
    listOf(matching(/^subnet-[0-9a-f]{8,17}$/)),
  ),
  "vpc.public": field(
    "whether relay tasks need public addresses, because these subnets have no NAT",
    "true or false",
    false,
    boolean,
  ),
  "vpc.functions": field(
    "whether the functions run in that VPC too, for clusters or a kcp without a public address",
    "true or false",
    false,
    boolean,
  ),
  "concurrency.reconcile": field(
    "concurrent batches of the reconcile function",
    "a whole number from 2 to 1000",
    defaultConcurrency.reconcile,
    wholeNumber(2, 1_000),
  ),
  "concurrency.forward": field(
    "concurrent batches of the forward function",
    "a whole number from 2 to 1000",
    defaultConcurrency.forward,
    wholeNumber(2, 1_000),
  ),
  "concurrency.probe": field(
    "concurrent messages of the probe function, with up to 50 clusters each",
    "a whole number from 2 to 1000",
    defaultConcurrency.probe,
    wholeNumber(2, 1_000),
  ),
  "concurrency.reserve": field(
    "whether these concurrencies are reserved for the functions",
    "true or false",
    false,
    boolean,
  ),
  heartbeatSeconds: field(
    "interval between probes of a cluster; below 60, the planner, which runs once a minute, sends several waves",
    "a whole number from 10 to 3600",
    60,
    wholeNumber(10, 3_600),
  ),
  resyncMinutes: field(
    "interval between resyncs of all objects",
    "a whole number from 5 to 1440",
    30,
    wholeNumber(5, 1_440),
  ),
  logLevel: field(
    "0 errors only, 1 warnings, 2 one line per reconcile, 4 and more: steps",
    "a whole number from 0 to 10",
    2,
    wholeNumber(0, 10),
  ),
  logRetentionDays: field("retention of logs", `one of ${retentionDays.join(", ")}`, 30, (value) =>
    retentionDays.find((days) => String(days) === text(value)),
  ),
  alarmEmail: optional(
    "e-mail address that is notified of alarms",
    "an e-mail address",
    matching(/^[^\s@,]+@[^\s@,]+\.[^\s@,]+$/),
  ),
  alarmTopicArn: optional(
    "existing SNS topic that is notified of alarms, for example of a chat or paging service",
    "the ARN of a topic",
    matching(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/),
  ),
  alarmNotReadyClusters: field(
    "number of clusters that are not Ready at which the alarm clusters-not-ready fires; raise it if tenants register clusters themselves",
    "a whole number from 1 to 100000",
    1,
    wholeNumber(1, 100_000),
  ),
  removal: field(
    "whether dead-letter queues are kept when the stacks are destroyed",
    "retain, or destroy for temporary stages",
    "retain",
    oneOf(["retain", "destroy"]),
  ),
} as const;
