import { ControllerError } from "@tmc/kube/fault.ts";
import type { CredentialProvider } from "../credentials/cloud-credentials.ts";
import { parseRanges } from "../credentials/endpoint-rules.ts";
import { parseLogLevel } from "../observe/log.ts";
import { defaultTenantEventsPerSecond, mostTenantEventsPerSecond } from "../queue/tenant-rate-limit.ts";
import { defaultDeletionGuardSettings } from "../sync/eviction/deletion-guard.ts";
import {
  type DeletionGuardFlags,
  deletionGuardRanges,
  deletionGuardVariables,
  parseDeletionGuard,
} from "../sync/eviction/deletion-guard-settings.ts";
import { type ExportAddress, exportAddressForm, parseExportAddress } from "../upstream/export/address.ts";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";

export type { CredentialProvider } from "../credentials/cloud-credentials.ts";

/** The ways to credentials; named here again, for who only reads the environment must not load all that finds them. */
export const credentialProviders = [
  "eks",
  "secretsmanager",
  "kcp-secret",
] as const satisfies readonly CredentialProvider[];

/** All that the operator can say to a function or to the relay, read and checked. */
export type Environment = Readonly<{
  /** Name of the stage, for logs and metrics. */
  stage: string;
  logLevel: number;
  hub: "kcp" | "kubernetes";
  /** Name or ARN of the secret with the hub's kubeconfig. */
  kcpSecret: string;
  /** Paths of workspaces; none on a plain Kubernetes hub, nor where an export is named. */
  workspaces: readonly string[];
  /** In their place: the export whose tenants are all looked after. */
  apiExport: ExportAddress | undefined;
  workQueueUrl: string;
  delayQueueUrl: string;
  deadLettersUrl: string;
  heartbeatQueueUrl: string;
  heartbeatSeconds: number;
  resyncSeconds: number;
  /** Whether workloads are put on clusters, and not only placed. */
  sync: boolean;
  /** Whether the relay watches the clusters as well, and tells what becomes of workloads there. */
  watchClusters: boolean;
  /** Keys of one tenant that are sent in a second, where there can be several tenants; 0 for any number. */
  tenantEventsPerSecond: number;
  /** More copies of a tenant, or on a cluster, than this many or this share do not leave at once unless somebody confirms. */
  maxDeletions: number;
  maxDeletionsPercent: number;
  credentialProviders: readonly CredentialProvider[];
  /** Networks that tenants' servers may be in besides public addresses. */
  allowedEndpoints: readonly string[];
}>;

/** What one process reads of it. */
export type EnvironmentName = keyof Environment;

type Variables = Readonly<Record<string, string | undefined>>;
/** Gives the value, or says what is wrong with the text. */
type Reading<T> = Readonly<{ value: T } | { problem: string }>;
type Field<T> = Readonly<{
  variable: string;
  /** What holds when nothing is said, nothing at all included; without it something has to be said. */
  fallback?: T;
  parse: (text: string) => Reading<T>;
}>;

const fields: { readonly [Name in EnvironmentName]: Field<Environment[Name]> } = {
  stage: { variable: "TMC_STAGE", parse: parseStage },
  logLevel: { variable: "TMC_LOG_LEVEL", fallback: 2, parse: parseLevel },
  hub: { variable: "TMC_HUB", fallback: "kcp", parse: (text) => oneOf(["kcp", "kubernetes"], text) },
  kcpSecret: { variable: "TMC_KCP_SECRET", parse: (value) => ({ value }) },
  workspaces: { variable: "TMC_WORKSPACES", fallback: [], parse: parseWorkspaces },
  apiExport: { variable: "TMC_API_EXPORT", fallback: undefined, parse: parseExport },
  workQueueUrl: { variable: "TMC_WORK_QUEUE_URL", parse: parseUrl },
  delayQueueUrl: { variable: "TMC_DELAY_QUEUE_URL", parse: parseUrl },
  deadLettersUrl: { variable: "TMC_DEAD_LETTERS_URL", parse: parseUrl },
  heartbeatQueueUrl: { variable: "TMC_HEARTBEAT_QUEUE_URL", parse: parseUrl },
  heartbeatSeconds: { variable: "TMC_HEARTBEAT_SECONDS", fallback: 60, parse: parseSeconds },
  resyncSeconds: { variable: "TMC_RESYNC_SECONDS", fallback: 1_800, parse: parseSeconds },
  sync: { variable: "TMC_SYNC", fallback: true, parse: parseSwitch },
  watchClusters: { variable: "TMC_WATCH_CLUSTERS", fallback: false, parse: parseSwitch },
  tenantEventsPerSecond: {
    variable: "TMC_TENANT_EVENTS_PER_SECOND",
    fallback: defaultTenantEventsPerSecond,
    parse: parseRate,
  },
  maxDeletions: brakeField("maxDeletions", "maxCopies"),
  maxDeletionsPercent: brakeField("maxDeletionsPercent", "maxPercent"),
  credentialProviders: {
    variable: "TMC_CREDENTIAL_PROVIDERS",
    fallback: credentialProviders,
    parse: (text) => listOf(text, (word) => oneOf(credentialProviders, word)),
  },
  allowedEndpoints: { variable: "TMC_ALLOWED_ENDPOINTS", fallback: [], parse: parseNetworks },
};

/**
 * Reads what is named of the environment. Everything that is wrong with it is said in one error, so that nobody has to
 * deploy five times to hear of five mistakes. Values are not repeated there: one in the wrong place may be a secret.
 */
export function readEnvironment<Name extends EnvironmentName>(
  variables: Variables,
  names: readonly Name[],
): Pick<Environment, Name> {
  const values: Partial<Record<EnvironmentName, unknown>> = {};
  const problems: string[] = [];
  for (const name of names) {
    const field: Field<unknown> = fields[name];
    const { variable, parse } = field;
    const text = variables[variable]?.trim() ?? "";
    const reading =
      text !== ""
        ? parse(text)
        : Object.hasOwn(field, "fallback")
          ? { value: field.fallback }
          : { problem: "is not set" };
    if ("problem" in reading) problems.push(`${variable} ${reading.problem}`);
    else values[name] = reading.value;
  }
  problems.push(...misfitsOf(values, variables));
  if (problems.length > 0) throw new ControllerError("invalid", `environment: ${problems.join("; ")}`);
  // Each of the names has been given the value that its own field parsed.
  return values as Pick<Environment, Name>;
}

/** What is right by itself and does not go together: a kcp has workspaces or an export, a plain cluster neither. */
function misfitsOf(values: Partial<Record<EnvironmentName, unknown>>, variables: Variables): readonly string[] {
  const isWithout = Array.isArray(values.workspaces) && values.workspaces.length === 0;
  const hasExport = (variables.TMC_API_EXPORT?.trim() ?? "") !== "";
  if (values.hub === "kubernetes") return hasExport ? ["TMC_API_EXPORT is for kcp"] : [];
  if (values.hub !== "kcp" || values.workspaces === undefined) return [];
  if (isWithout && !hasExport) return ["TMC_WORKSPACES is not set"];
  return !isWithout && hasExport ? ["TMC_API_EXPORT takes the place of TMC_WORKSPACES: leave one out"] : [];
}

function parseExport(text: string): Reading<ExportAddress> {
  const value = parseExportAddress(text);
  return value === undefined ? { problem: `has to be ${exportAddressForm}` } : { value };
}

function parseStage(text: string): Reading<string> {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/.test(text)
    ? { value: text }
    : { problem: "has to be letters, digits, - and _, at most 63" };
}

function parseLevel(text: string): Reading<number> {
  const value = parseLogLevel(text);
  return value === undefined ? { problem: "has to be a whole number from 0 to 10" } : { value };
}

function parseSeconds(text: string): Reading<number> {
  const value = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= 86_400 ? { value } : { problem: "has to be whole seconds from 1 to 86400" };
}

function parseSwitch(text: string): Reading<boolean> {
  const reading = oneOf(["true", "false"], text);
  return "problem" in reading ? reading : { value: reading.value === "true" };
}

/** One of the brake's limits, read as every other process reads it. */
function brakeField(which: keyof DeletionGuardFlags, part: "maxCopies" | "maxPercent"): Field<number> {
  return {
    variable: deletionGuardVariables[which],
    fallback: defaultDeletionGuardSettings[part],
    parse: (text) => {
      const problems: string[] = [];
      const { [part]: value } = parseDeletionGuard({ [which]: text }, () => problems.push("is out of its range"));
      const [least, most] = deletionGuardRanges[which];
      return problems.length === 0 ? { value } : { problem: `has to be a whole number from ${least} to ${most}` };
    },
  };
}

function parseRate(text: string): Reading<number> {
  const value = /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return value <= mostTenantEventsPerSecond
    ? { value }
    : { problem: `has to be a whole number from 0 to ${mostTenantEventsPerSecond}` };
}

function parseUrl(text: string): Reading<string> {
  const protocol = URL.canParse(text) ? new URL(text).protocol : "";
  // Endpoints for trying things out on one machine speak http.
  return protocol === "https:" || protocol === "http:" ? { value: text } : { problem: "has to be the URL of a queue" };
}

function parseWorkspaces(text: string): Reading<readonly string[]> {
  return listOf(text, (word) =>
    isWorkspaceAddress(word) ? { value: word } : { problem: "has to be paths like root:org:team, with commas between" },
  );
}

function parseNetworks(text: string): Reading<readonly string[]> {
  try {
    return { value: parseRanges(text) };
  } catch {
    return { problem: "has to be networks like 10.0.0.0/8, with commas between" };
  }
}

function oneOf<const Word extends string>(words: readonly Word[], text: string): Reading<Word> {
  const value = words.find((word) => word === text);
  return value === undefined ? { problem: `has to be of ${words.join(", ")}` } : { value };
}

/** Values with commas between them; the first problem stands for all, for it says how each has to be. */
function listOf<T>(text: string, parse: (word: string) => Reading<T>): Reading<readonly T[]> {
  const values: T[] = [];
  for (const word of text.split(",").map((part) => part.trim())) {
    if (word === "") continue;
    const reading = parse(word);
    if ("problem" in reading) return reading;
    values.push(reading.value);
  }
  return { value: [...new Set(values)] };
}
