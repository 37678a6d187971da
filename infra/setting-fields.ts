import { isIPv4 } from "node:net";
import { parseRanges } from "../lib/credentials/endpoint-rules.ts";
import { credentialProviders } from "../lib/engine/environment.ts";
import { defaultTenantEventsPerSecond, mostTenantEventsPerSecond } from "../lib/queue/tenant-rate-limit.ts";
import { defaultDeletionGuardSettings } from "../lib/sync/eviction/deletion-guard.ts";
import { deletionGuardRanges } from "../lib/sync/eviction/deletion-guard-settings.ts";
import { exportAddressForm, formatExportAddress, parseExportAddress } from "../lib/upstream/export/address.ts";
import { isWorkspaceAddress } from "../lib/upstream/logical-cluster.ts";

/** One setting: what it is for, which form it has, what holds when nothing is said. */
export type SettingField<T> = Readonly<{
  /** What it is for, in a line. */
  about: string;
  /** The right form, as it ends the sentence "… has to be". */
  form: string;
  /** What holds when nothing is said. */
  fallback: T;
  /** Gives the value, or undefined where the form is wrong. Context of the command line is always text. */
  parse: (value: unknown) => T | undefined;
}>;

/** Days that CloudWatch can keep log lines. */
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
  <const Word extends string>(words: readonly Word[]) =>
  (value: unknown): Word | undefined =>
    words.find((word) => word === text(value));

const wholeNumber = (least: number, most: number) => (value: unknown) => {
  const given = text(value) ?? "";
  const number = /^[0-9]{1,6}$/.test(given) ? Number(given) : Number.NaN;
  return number >= least && number <= most ? number : undefined;
};

const yesOrNo = (value: unknown): boolean | undefined => ({ true: true, false: false })[text(value) ?? ""];

/** A list, or text with commas; no word twice. */
const listOf =
  <Word extends string>(parse: (value: unknown) => Word | undefined) =>
  (value: unknown): readonly Word[] | undefined => {
    const words: readonly unknown[] = Array.isArray(value) ? value : (text(value)?.split(",") ?? [undefined]);
    const parsed = words.filter((word) => word !== "").map(parse);
    const good = parsed.filter((word) => word !== undefined);
    return good.length === parsed.length ? [...new Set(good)] : undefined;
  };

const isRange = (value: string): boolean => {
  try {
    return parseRanges(value).length === 1;
  } catch {
    return false;
  }
};

/** A network that has room for two subnets of at least 16 addresses, which is the least that AWS gives. */
const network = (value: unknown): string | undefined => {
  const [, address = "", prefix = ""] = /^([0-9.]+)\/(\d\d)$/.exec(text(value) ?? "") ?? [];
  return isIPv4(address) && Number(prefix) >= 16 && Number(prefix) <= 27 ? `${address}/${prefix}` : undefined;
};

/** A secret by name or ARN, its name none of those that are meant for others. */
const secretBeside = (others: RegExp) => (value: unknown) => {
  const given = text(value) ?? "";
  const [, name = given] =
    /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:(.+)-[A-Za-z0-9]{6}$/.exec(given) ?? [];
  return /^[A-Za-z0-9/_+=.@-]{1,512}$/.test(name) && !others.test(name) ? given : undefined;
};

const field = <T>(
  about: string,
  form: string,
  fallback: T,
  parse: (value: unknown) => T | undefined,
): SettingField<T> => ({
  about,
  form,
  fallback,
  parse,
});

const none: undefined = undefined;
const optional = <T>(
  about: string,
  form: string,
  parse: (value: unknown) => T | undefined,
): SettingField<T | undefined> => field<T | undefined>(about, form, none, parse);

const noWords: readonly string[] = [];

/** Every setting there is, by its path. */
export const settingFields = {
  stage: field(
    "name of this deployment; several can live in one account",
    "1 to 20 small letters, digits and -, the first a letter",
    "dev",
    matching(/^[a-z](?:[a-z0-9-]{0,18}[a-z0-9])?$/),
  ),
  hub: field(
    "what the hub is",
    "kcp, or kubernetes for a plain cluster with our CRDs",
    "kcp",
    oneOf(["kcp", "kubernetes"]),
  ),
  kcpSecret: optional(
    "the secret with the kubeconfig for the hub, which exists already; `tmc-<stage>-kcp` when nothing is said",
    "the name of a secret, or its whole ARN; not tmc/…/…, as tenants' secrets are named",
    // tmc/<logical cluster>/<registration>: who registers a cluster of the right name would be handed the key to kcp.
    secretBeside(/^tmc\/[^/]+\//),
  ),
  workspaces: field(
    "the workspaces that are looked after",
    "paths like root:org:team, with commas between or as a list",
    noWords,
    listOf((value) => (typeof value === "string" && isWorkspaceAddress(value.trim()) ? value.trim() : undefined)),
  ),
  apiExport: optional(
    "in place of workspaces: the export whose tenants are all looked after",
    exportAddressForm,
    (value) => {
      const address = parseExportAddress(text(value) ?? "");
      return address === undefined ? undefined : formatExportAddress(address);
    },
  ),
  credentialProviders: field(
    "how credentials for clusters may be found",
    `of ${credentialProviders.join(", ")}, with commas between or as a list`,
    credentialProviders,
    listOf(oneOf(credentialProviders)),
  ),
  allowedEndpoints: field(
    "networks that tenants' servers may be in besides public addresses",
    "networks like 10.20.0.0/16, with commas between or as a list",
    noWords,
    listOf((value) => {
      const range = text(value) ?? "";
      return isRange(range) ? range : undefined;
    }),
  ),
  "relay.mode": field(
    "where the relay runs",
    "fargate, or external for a pod of your own",
    "fargate",
    oneOf(["fargate", "external"]),
  ),
  "relay.image": optional(
    "a relay image that is built already; else the Dockerfile is built at deploy, which takes Docker",
    "an image like registry/name:tag or registry/name@sha256:…",
    matching(/^[a-z0-9][a-z0-9.:/_-]*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})$/),
  ),
  "relay.kcpSecret": optional(
    "a secret with a kubeconfig for the relay alone, whose user need only list and watch; `kcpSecret` when nothing is said",
    "the name of a secret, or its whole ARN; not tmc/…, which functions may read",
    secretBeside(/^tmc\//),
  ),
  "relay.watchClusters": field(
    "whether the relay watches tenants' clusters too, so that what becomes of workloads there, and what is born there, is known at once; it then finds their credentials as functions do",
    "true or false",
    false,
    yesOrNo,
  ),
  "relay.tasks": field("how many relays run at once", "a whole number from 1 to 10", 2, wholeNumber(1, 10)),
  sync: field(
    "whether workloads are put on the clusters that placements choose for them; else clusters are only chosen",
    "true or false",
    true,
    yesOrNo,
  ),
  maxDeletions: field(
    "how many copies of a tenant's workloads, or on a cluster, may leave at once before somebody has to confirm it",
    `a whole number from ${deletionGuardRanges.maxDeletions.join(" to ")}`,
    defaultDeletionGuardSettings.maxCopies,
    wholeNumber(...deletionGuardRanges.maxDeletions),
  ),
  maxDeletionsPercent: field(
    "the same as a share of all, in percent; ten may always leave",
    `a whole number from ${deletionGuardRanges.maxDeletionsPercent.join(" to ")}`,
    defaultDeletionGuardSettings.maxPercent,
    wholeNumber(...deletionGuardRanges.maxDeletionsPercent),
  ),
  tenantEventsPerSecond: field(
    "how many keys of one tenant are queued in a second, where there can be several tenants; 0 for any number",
    `a whole number from 0 to ${mostTenantEventsPerSecond}`,
    defaultTenantEventsPerSecond,
    wholeNumber(0, mostTenantEventsPerSecond),
  ),
  "vpc.cidr": field(
    "the relay's own network, where no network is given by vpc.id",
    "an IPv4 network like 10.79.0.0/24, from /16 to /27",
    "10.79.0.0/24",
    network,
  ),
  "vpc.id": optional(
    "a network of yours that the relay runs in",
    "an id like vpc-0123456789abcdef0",
    matching(/^vpc-[0-9a-f]{8,17}$/),
  ),
  "vpc.availabilityZones": field(
    "zones of the subnets, in their order",
    "zones like eu-west-1a, with commas between or as a list",
    noWords,
    listOf(matching(/^[a-z]{2}(?:-[a-z]+)+-\d[a-z]$/)),
  ),
  "vpc.subnets": field(
    "subnets of that network, one per zone",
    "ids like subnet-0123456789abcdef0, with commas between or as a list",
    noWords,
    listOf(matching(/^subnet-[0-9a-f]{8,17}$/)),
  ),
  "vpc.public": field(
    "whether relay tasks need public addresses there, for want of NAT",
    "true or false",
    false,
    yesOrNo,
  ),
  "vpc.functions": field(
    "whether the functions run there too, for clusters or a kcp without a public address",
    "true or false",
    false,
    yesOrNo,
  ),
  "concurrency.reconcile": field(
    "batches of keys that are reconciled at once",
    "a whole number from 2 to 1000",
    20,
    wholeNumber(2, 1_000),
  ),
  "concurrency.forward": field(
    "batches that are forwarded at once",
    "a whole number from 2 to 1000",
    5,
    wholeNumber(2, 1_000),
  ),
  "concurrency.probe": field(
    "messages of up to 50 clusters that are probed at once",
    "a whole number from 2 to 1000",
    10,
    wholeNumber(2, 1_000),
  ),
  "concurrency.reserve": field(
    "whether these numbers are set aside from the account's concurrency, so that nothing else can take them",
    "true or false",
    false,
    yesOrNo,
  ),
  heartbeatSeconds: field(
    "how often each cluster is probed; the planner wakes once a minute, so less than 60 means every minute",
    "a whole number from 10 to 3600",
    60,
    wholeNumber(10, 3_600),
  ),
  resyncMinutes: field(
    "how often everything is looked at anew",
    "a whole number from 5 to 1440",
    30,
    wholeNumber(5, 1_440),
  ),
  logLevel: field(
    "0 errors only, 1 warnings, 2 a line per reconcile, 4 and more steps",
    "a whole number from 0 to 10",
    2,
    wholeNumber(0, 10),
  ),
  logRetentionDays: field("how long log lines are kept", `of ${retentionDays.join(", ")}`, 30, (value) =>
    retentionDays.find((days) => String(days) === text(value)),
  ),
  alarmEmail: optional(
    "who gets a mail when an alarm goes off",
    "an e-mail address",
    matching(/^[^\s@,]+@[^\s@,]+\.[^\s@,]+$/),
  ),
  removal: field(
    "what becomes of dead letters when the stacks are destroyed",
    "retain, or destroy for stages to be thrown away",
    "retain",
    oneOf(["retain", "destroy"]),
  ),
} as const;
