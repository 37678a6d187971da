import { ControllerError } from "@tmc/kube/fault.ts";
import type { CredentialProvider } from "../credentials/cloud-credentials.ts";
import { parseRanges } from "../credentials/endpoint-rules.ts";
import { parseLogLevel } from "../observe/log.ts";
import { defaultTenantEventsPerSecond, maxTenantEventsPerSecond } from "../queue/tenant-rate-limit.ts";
import { defaultDeletionGuardSettings } from "../sync/eviction/deletion-guard.ts";
import {
  type DeletionGuardFlags,
  deletionGuardRanges,
  deletionGuardVariables,
  parseDeletionGuard,
} from "../sync/eviction/deletion-guard-settings.ts";
import { type ExportAddress, exportAddressForm, parseExportAddress } from "../upstream/export/address.ts";
import { hubIdForm, hubIdPattern } from "../upstream/hub-identity.ts";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";

export type { CredentialProvider } from "../credentials/cloud-credentials.ts";

/** The same list as in `credentials/cloud-credentials.ts`, repeated so that functions that only read the environment do not load the providers. */
export const credentialProviderNames = [
  "eks",
  "secretsmanager",
  "kcp-secret",
] as const satisfies readonly CredentialProvider[];

/** The settings that an operator gives to a function or to the relay, parsed from environment variables. */
export type Environment = Readonly<{
  /** Name of the stage, for logs, metrics and the names of secrets. */
  stage: string;
  logLevel: number;
  hub: "kcp" | "kubernetes";
  /** Id of the hub; undefined for the one that the hub stores. */
  hubId: string | undefined;
  /** Name or ARN of the secret with the upstream kubeconfig. */
  kcpSecret: string;
  /** Paths of workspaces; empty on a plain Kubernetes cluster, and if `apiExport` is set. */
  workspaces: readonly string[];
  /** Instead of workspaces: the APIExport whose tenants are all reconciled. */
  apiExport: ExportAddress | undefined;
  workQueueUrl: string;
  delayQueueUrl: string;
  deadLettersUrl: string;
  heartbeatQueueUrl: string;
  /** Where an unfinished resync leaves the place at which it continues. */
  resyncQueueUrl: string;
  heartbeatSeconds: number;
  resyncSeconds: number;
  /** Whether workloads are synced to clusters, and not only placed. */
  sync: boolean;
  /** Whether the relay also watches the clusters and enqueues workloads whose copies change. */
  watchClusters: boolean;
  /** Keys of one tenant that are sent per second, if there can be several tenants; 0 for no limit. */
  tenantEventsPerSecond: number;
  /** The deletion guard holds deletions beyond this number, or this percentage, of the copies of a tenant or a cluster. */
  maxDeletions: number;
  maxDeletionsPercent: number;
  credentialProviders: readonly CredentialProvider[];
  /** Networks in which clusters may be, besides public addresses. */
  allowedEndpoints: readonly string[];
}>;

export type EnvironmentName = keyof Environment;

type Variables = Readonly<Record<string, string | undefined>>;
type ParseResult<T> = Readonly<{ value: T } | { error: string }>;
type Field<T> = Readonly<{
  variable: string;
  /** Value of an unset or empty variable. If the property is absent, the variable is required. */
  defaultValue?: T;
  parse: (text: string) => ParseResult<T>;
}>;

const fields: { readonly [Name in EnvironmentName]: Field<Environment[Name]> } = {
  stage: { variable: "TMC_STAGE", parse: parseStage },
  logLevel: { variable: "TMC_LOG_LEVEL", defaultValue: 2, parse: parseLevel },
  hub: { variable: "TMC_HUB", defaultValue: "kcp", parse: (text) => oneOf(["kcp", "kubernetes"], text) },
  hubId: {
    variable: "TMC_HUB_ID",
    defaultValue: undefined,
    parse: (value) => (hubIdPattern.test(value) ? { value } : { error: `must be ${hubIdForm}` }),
  },
  kcpSecret: { variable: "TMC_KCP_SECRET", parse: (value) => ({ value }) },
  workspaces: { variable: "TMC_WORKSPACES", defaultValue: [], parse: parseWorkspaces },
  apiExport: { variable: "TMC_API_EXPORT", defaultValue: undefined, parse: parseExport },
  workQueueUrl: { variable: "TMC_WORK_QUEUE_URL", parse: parseUrl },
  delayQueueUrl: { variable: "TMC_DELAY_QUEUE_URL", parse: parseUrl },
  deadLettersUrl: { variable: "TMC_DEAD_LETTERS_URL", parse: parseUrl },
  heartbeatQueueUrl: { variable: "TMC_HEARTBEAT_QUEUE_URL", parse: parseUrl },
  resyncQueueUrl: { variable: "TMC_RESYNC_QUEUE_URL", parse: parseUrl },
  heartbeatSeconds: { variable: "TMC_HEARTBEAT_SECONDS", defaultValue: 60, parse: parseSeconds },
  resyncSeconds: { variable: "TMC_RESYNC_SECONDS", defaultValue: 1_800, parse: parseSeconds },
  sync: { variable: "TMC_SYNC", defaultValue: true, parse: parseSwitch },
  watchClusters: { variable: "TMC_WATCH_CLUSTERS", defaultValue: false, parse: parseSwitch },
  tenantEventsPerSecond: {
    variable: "TMC_TENANT_EVENTS_PER_SECOND",
    defaultValue: defaultTenantEventsPerSecond,
    parse: parseRate,
  },
  maxDeletions: deletionGuardField("maxDeletions", "maxCopies"),
  maxDeletionsPercent: deletionGuardField("maxDeletionsPercent", "maxPercent"),
  credentialProviders: {
    variable: "TMC_CREDENTIAL_PROVIDERS",
    defaultValue: credentialProviderNames,
    parse: (text) => listOf(text, (name) => oneOf(credentialProviderNames, name)),
  },
  allowedEndpoints: { variable: "TMC_ALLOWED_ENDPOINTS", defaultValue: [], parse: parseNetworks },
};

/**
 * Parses the named settings. One error lists everything that is wrong, so that five mistakes do not take five deployments to
 * find. It does not repeat values: a value in the wrong variable may be a secret.
 */
export function readEnvironment<Name extends EnvironmentName>(
  variables: Variables,
  names: readonly Name[],
): Pick<Environment, Name> {
  const values: Partial<Record<EnvironmentName, unknown>> = {};
  const errors: string[] = [];
  for (const name of names) {
    const field: Field<unknown> = fields[name];
    const { variable, parse } = field;
    const text = variables[variable]?.trim() ?? "";
    const result =
      text !== ""
        ? parse(text)
        : Object.hasOwn(field, "defaultValue")
          ? { value: field.defaultValue }
          : { error: "is not set" };
    if ("error" in result) errors.push(`${variable} ${result.error}`);
    else values[name] = result.value;
  }
  errors.push(...conflictsOf(values, variables));
  if (errors.length > 0) throw new ControllerError("invalid", `environment: ${errors.join("; ")}`);
  // Each value was parsed by the field of its name.
  return values as Pick<Environment, Name>;
}

/** Settings that are valid by themselves but conflict: kcp needs workspaces or an export, a plain cluster has neither. */
function conflictsOf(values: Partial<Record<EnvironmentName, unknown>>, variables: Variables): readonly string[] {
  const hasNoWorkspaces = Array.isArray(values.workspaces) && values.workspaces.length === 0;
  const hasExport = (variables.TMC_API_EXPORT?.trim() ?? "") !== "";
  if (values.hub === "kubernetes") return hasExport ? ["TMC_API_EXPORT is for kcp"] : [];
  if (values.hub !== "kcp" || values.workspaces === undefined) return [];
  if (hasNoWorkspaces && !hasExport) return ["TMC_WORKSPACES is not set"];
  return !hasNoWorkspaces && hasExport ? ["TMC_API_EXPORT replaces TMC_WORKSPACES: set only one of them"] : [];
}

function parseExport(text: string): ParseResult<ExportAddress> {
  const value = parseExportAddress(text);
  return value === undefined ? { error: `must be ${exportAddressForm}` } : { value };
}

function parseStage(text: string): ParseResult<string> {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/.test(text)
    ? { value: text }
    : { error: "must be letters, digits, - and _, at most 63" };
}

function parseLevel(text: string): ParseResult<number> {
  const value = parseLogLevel(text);
  return value === undefined ? { error: "must be a whole number from 0 to 10" } : { value };
}

function parseSeconds(text: string): ParseResult<number> {
  const value = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= 86_400 ? { value } : { error: "must be whole seconds from 1 to 86400" };
}

function parseSwitch(text: string): ParseResult<boolean> {
  const result = oneOf(["true", "false"], text);
  return "error" in result ? result : { value: result.value === "true" };
}

/** A limit of the deletion guard, parsed like in every other process. */
function deletionGuardField(which: keyof DeletionGuardFlags, part: "maxCopies" | "maxPercent"): Field<number> {
  return {
    variable: deletionGuardVariables[which],
    defaultValue: defaultDeletionGuardSettings[part],
    parse: (text) => {
      let isValid = true;
      const { [part]: value } = parseDeletionGuard({ [which]: text }, () => {
        isValid = false;
      });
      const [min, max] = deletionGuardRanges[which];
      return isValid ? { value } : { error: `must be a whole number from ${min} to ${max}` };
    },
  };
}

function parseRate(text: string): ParseResult<number> {
  const value = /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return value <= maxTenantEventsPerSecond
    ? { value }
    : { error: `must be a whole number from 0 to ${maxTenantEventsPerSecond}` };
}

function parseUrl(text: string): ParseResult<string> {
  const protocol = URL.canParse(text) ? new URL(text).protocol : "";
  // Local SQS emulators use http.
  return protocol === "https:" || protocol === "http:" ? { value: text } : { error: "must be the URL of a queue" };
}

function parseWorkspaces(text: string): ParseResult<readonly string[]> {
  return listOf(text, (path) =>
    isWorkspaceAddress(path) ? { value: path } : { error: "must be comma-separated paths like root:org:team" },
  );
}

function parseNetworks(text: string): ParseResult<readonly string[]> {
  try {
    return { value: parseRanges(text) };
  } catch {
    return { error: "must be comma-separated networks like 10.0.0.0/8" };
  }
}

function oneOf<const Value extends string>(values: readonly Value[], text: string): ParseResult<Value> {
  const value = values.find((known) => known === text);
  return value === undefined ? { error: `must be one of ${values.join(", ")}` } : { value };
}

/** Parses comma-separated values; returns the first error, which describes the format of all. */
function listOf<T>(text: string, parse: (element: string) => ParseResult<T>): ParseResult<readonly T[]> {
  const values: T[] = [];
  for (const element of text.split(",").map((part) => part.trim())) {
    if (element === "") continue;
    const result = parse(element);
    if ("error" in result) return result;
    values.push(result.value);
  }
  return { value: [...new Set(values)] };
}
