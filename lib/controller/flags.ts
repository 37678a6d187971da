import { ControllerError } from "@tmc/kube/fault.ts";
import { parseRanges } from "../credentials/endpoint-rules.ts";
import { durationForm, parseDurationSeconds } from "../model/timestamp.ts";
import type { KnownQueues } from "../queue/queue-stats.ts";
import { defaultTenantEventsPerSecond, maxTenantEventsPerSecond } from "../queue/tenant-rate-limit.ts";
import { parseSourceFlags, type SourceConfig, type SourceFlags, sourceFlagDefaults } from "../sources/flags.ts";
import { hasExternalSources } from "../sources/source-kinds.ts";
import type { DeletionGuardSettings } from "../sync/eviction/deletion-guard.ts";
import { type DeletionGuardFlags, parseDeletionGuard } from "../sync/eviction/deletion-guard-settings.ts";
import { type ExportAddress, exportAddressForm, parseExportAddress } from "../upstream/export/address.ts";
import { hubIdForm, hubIdPattern } from "../upstream/hub-identity.ts";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";

/** The flags of the command line, as text; undefined if not given. */
export type ControllerFlags = SourceFlags &
  DeletionGuardFlags &
  Readonly<{
    kcpKubeconfig?: string | undefined;
    /** Repeated, or comma-separated. */
    workspace?: readonly string[] | undefined;
    /** Instead of workspaces: the export whose tenants are all reconciled, such as `root:tmc:tmc.kcp.io`. */
    apiExport?: string | undefined;
    /** `name=path,…` or `workspace/name=path,…`, once or repeated. */
    clusterKubeconfigs?: readonly string[] | undefined;
    /** `kcp`, or `kubernetes` for a plain cluster with the CRDs of TMC. */
    hub?: string | undefined;
    /** `detect`, or `ignore` if the workload controllers of a plain cluster are turned off. */
    hubControllers?: string | undefined;
    /** The id of the hub, instead of the one that the hub stores. */
    hubId?: string | undefined;
    /** Files with CustomResourceDefinitions, once or repeated. */
    crd?: readonly string[] | undefined;
    resyncPeriod?: string | undefined;
    workerCount?: string | undefined;
    syncWorkerCount?: string | undefined;
    tenantConcurrency?: string | undefined;
    tenantShare?: string | undefined;
    tenantEventsPerSecond?: string | undefined;
    metricsPort?: string | undefined;
    healthPort?: string | undefined;
    logLevel?: string | undefined;
    heartbeatInterval?: string | undefined;
    /** CIDRs, repeated or comma-separated. */
    allowEndpoints?: readonly string[] | undefined;
    allowPrivateEndpoints?: boolean | undefined;
    /** `text` or `json`. */
    logFormat?: string | undefined;
    /** The work queue on SQS, instead of one in memory. */
    queueUrl?: string | undefined;
    leaderElect?: boolean | undefined;
    leaderElectKubeconfig?: string | undefined;
    leaderElectResourceNamespace?: string | undefined;
    leaderElectResourceName?: string | undefined;
    leaderElectLeaseDuration?: string | undefined;
    delayQueueUrl?: string | undefined;
    deadLettersUrl?: string | undefined;
  }>;

/** How the Lease is found that only one of several controllers holds. */
export type LeaderElectionConfig = Readonly<{
  /** Path of a kubeconfig for the cluster of the Lease; undefined for the cluster in which the process runs. */
  kubeconfig: string | undefined;
  /** Undefined for the namespace of the pod or of the kubeconfig. */
  namespace: string | undefined;
  name: string;
  durationSeconds: number;
}>;

export type LogFormat = "text" | "json";

/** The validated configuration of a controller. */
export type ControllerConfig = Readonly<{
  kcpKubeconfig: string;
  /** Undefined for a plain Kubernetes cluster, and for all tenants of an export. */
  workspaces: readonly string[] | undefined;
  /** The export whose tenants are reconciled; undefined with workspaces, and for a plain cluster. */
  apiExport: ExportAddress | undefined;
  /** The id of the hub; undefined for the one that the hub stores. */
  hubId: string | undefined;
  /** Whether a plain cluster may be the hub although its own controllers seem to run workloads. */
  ignoresHubControllers: boolean;
  /** Paths of kubeconfigs, by the name of the registration; with several workspaces by `workspace/name`. */
  clusterKubeconfigs: ReadonlyMap<string, string>;
  /** Files with the CRDs of additional workload types. */
  crds: readonly string[];
  /** Cluster sources, secret template and shard. */
  clusterSources: SourceConfig;
  metricsPort: number;
  healthPort: number;
  /** Like klog: 0 is errors only, 2 the default, 4 and more for debugging. */
  logLevel: number;
  /** Undefined: text on a terminal, JSON otherwise. */
  logFormat: LogFormat | undefined;
  resyncSeconds: number;
  workers: number;
  syncWorkers: number;
  /** Keys of one tenant that are reconciled concurrently; undefined for a default derived from the workers. */
  tenantConcurrency: number | undefined;
  /** From 0 to 1. */
  tenantShare: number | undefined;
  /** Keys of one tenant that the relay sends per second; 0 for no limit. */
  tenantEventsPerSecond: number;
  heartbeatSeconds: number;
  deletionGuard: DeletionGuardSettings;
  /** CIDRs that kubeconfigs of tenants may name servers in, in addition to public addresses. */
  allowedEndpoints: readonly string[];
  /** Whether kubeconfigs of tenants may name servers on this machine or in private networks. */
  allowPrivateEndpoints: boolean;
  /** The queues shared with other processes; undefined for a queue in memory. Unnamed queues are derived from the named one. */
  queues: KnownQueues | undefined;
  /** Undefined if the controller starts without a Lease. */
  leaderElection: LeaderElectionConfig | undefined;
}>;

/** Defaults of flags. */
export const flagDefaults = {
  hub: "kcp",
  hubControllers: "detect",
  resyncPeriod: "30s",
  workerCount: "5",
  syncWorkerCount: "32",
  metricsPort: "8080",
  healthPort: "8081",
  logLevel: "2",
  heartbeatInterval: "30s",
  leaderElectResourceName: "tmc-controller",
  leaderElectLeaseDuration: "15s",
} as const;

const clusterNamePattern = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Validates the flags of the controller. One error lists everything that is addError, with the expected formats. */
export function parseControllerFlags(flags: ControllerFlags): ControllerConfig {
  const errors: string[] = [];
  const addError = (option: string, why: string): void => void errors.push(`--${option} ${why}`);
  const given = { ...flagDefaults, ...definedOf(flags) };

  const wholeNumber = (option: string, text: string, min: number, max: number): number => {
    const value = /^[0-9]{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    addError(option, `"${text}" is not a whole number from ${min} to ${max}`);
    return min;
  };
  const seconds = (option: string, text: string, min: number, max: number): number => {
    const value = parseDurationSeconds(text.trim());
    if (value === undefined) addError(option, `"${text}" is not ${durationForm}`);
    else if (value < min || value > max) addError(option, `"${text}" is not between ${min}s and ${max / 3600}h`);
    return value ?? min;
  };

  const kcpKubeconfig = flags.kcpKubeconfig?.trim() ?? "";
  if (kcpKubeconfig === "") addError("kcp-kubeconfig", "is missing: the path of a kubeconfig for kcp");
  const apiExport = exportOf(given, addError);
  const workspaces = workspacesOf(given, addError);
  const clusterKubeconfigs = kubeconfigsOf(given, workspaces, addError);
  const metricsPort = wholeNumber("metrics-port", given.metricsPort, 0, 65_535);
  const healthPort = wholeNumber("health-port", given.healthPort, 0, 65_535);
  if (metricsPort === healthPort && metricsPort !== 0) {
    addError("health-port", `${healthPort} is also --metrics-port: they must differ`);
  }
  const clusterSources = sourcesOf(flags, errors);
  const config: ControllerConfig = {
    kcpKubeconfig,
    workspaces,
    apiExport,
    hubId: hubIdOf(flags, addError),
    ignoresHubControllers: ignoresHubControllers(given, addError),
    clusterKubeconfigs,
    crds: flags.crd ?? [],
    clusterSources,
    metricsPort,
    healthPort,
    logLevel: wholeNumber("log-level", given.logLevel, 0, 10),
    logFormat: logFormatOf(flags, addError),
    resyncSeconds: seconds("resync-period", given.resyncPeriod, 1, 24 * 3600),
    workers: wholeNumber("worker-count", given.workerCount, 1, 100),
    syncWorkers: wholeNumber("sync-worker-count", given.syncWorkerCount, 1, 1000),
    tenantConcurrency:
      given.tenantConcurrency === undefined
        ? undefined
        : wholeNumber("tenant-concurrency", given.tenantConcurrency, 1, 100),
    tenantShare:
      given.tenantShare === undefined ? undefined : wholeNumber("tenant-share", given.tenantShare, 1, 100) / 100,
    tenantEventsPerSecond:
      given.tenantEventsPerSecond === undefined
        ? defaultEventsPerSecond(flags)
        : wholeNumber("tenant-events-per-second", given.tenantEventsPerSecond, 0, maxTenantEventsPerSecond),
    heartbeatSeconds: seconds("heartbeat-interval", given.heartbeatInterval, 1, 24 * 3600),
    deletionGuard: parseDeletionGuard(flags, (which, why) => addError(optionOf(which), why)),
    allowedEndpoints: endpointsOf(flags, addError),
    allowPrivateEndpoints: flags.allowPrivateEndpoints === true,
    queues: queuesOf(flags, addError),
    leaderElection: leaderElectionOf(given, clusterSources.shard?.id, { addError, seconds }),
  };
  for (const which of ["tenantConcurrency", "tenantShare"] as const) {
    if (flags[which] === undefined || flags.queueUrl === undefined) continue;
    addError(optionOf(which), "requires a queue in memory: with --queue-url, SQS decides which key is next");
  }
  if (errors.length > 0) throw new ControllerError("invalid", errors.join("; "));
  return config;
}

/** The queue in memory is fair between tenants. SQS does not know tenants, so they are limited before it. */
function defaultEventsPerSecond({ queueUrl }: ControllerFlags): number {
  return queueUrl === undefined ? 0 : defaultTenantEventsPerSecond;
}

/** `max-deletions` for `maxDeletions`. */
const optionOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

type AddError = (option: string, why: string) => void;

function logFormatOf({ logFormat }: ControllerFlags, addError: AddError): LogFormat | undefined {
  if (logFormat === undefined || logFormat === "text" || logFormat === "json") return logFormat;
  addError("log-format", `"${logFormat}" is not text or json`);
  return undefined;
}

function definedOf(
  flags: ControllerFlags,
): Partial<{ [Flag in keyof ControllerFlags]: NonNullable<ControllerFlags[Flag]> }> {
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
}

function exportOf({ hub, workspace, apiExport }: ControllerFlags, addError: AddError): ExportAddress | undefined {
  if (apiExport === undefined) return undefined;
  const address = parseExportAddress(apiExport.trim());
  if (hub === "kubernetes") addError("api-export", "requires kcp: a plain cluster has no exports");
  else if (listOf(workspace).length > 0) addError("api-export", "replaces --workspace: set only one of them");
  else if (address === undefined) addError("api-export", `"${apiExport}" is not ${exportAddressForm}`);
  return address;
}

function hubIdOf({ hubId }: ControllerFlags, addError: AddError): string | undefined {
  if (hubId !== undefined && !hubIdPattern.test(hubId)) addError("hub-id", `"${hubId}" is not ${hubIdForm}`);
  return hubId;
}

function workspacesOf(
  { hub, workspace, apiExport }: ControllerFlags,
  addError: AddError,
): readonly string[] | undefined {
  const named = listOf(workspace);
  if (hub === "kubernetes") {
    if (named.length > 0) addError("workspace", "requires kcp: a plain cluster has no workspaces");
    return undefined;
  }
  if (hub !== "kcp") addError("hub", `"${hub}" is not kcp or kubernetes`);
  if (named.length === 0) {
    if (apiExport !== undefined) return undefined;
    addError("workspace", "is missing: paths like root:org:team, comma-separated; or --api-export");
  }
  for (const path of named) {
    if (!isWorkspaceAddress(path)) addError("workspace", `"${path}" is not a path like root:org:team`);
  }
  return [...new Set(named)];
}

function queuesOf(
  { queueUrl, delayQueueUrl, deadLettersUrl }: ControllerFlags,
  addError: AddError,
): KnownQueues | undefined {
  const urls = { "queue-url": queueUrl, "delay-queue-url": delayQueueUrl, "dead-letters-url": deadLettersUrl };
  for (const [option, url] of Object.entries(urls)) {
    if (url === undefined) continue;
    if (!URL.canParse(url) || !/^https?:/.test(url)) addError(option, `"${url}" is not the URL of a queue`);
    else if (queueUrl === undefined) addError(option, "requires --queue-url");
  }
  if (queueUrl === undefined) return undefined;
  return { work: queueUrl, delay: delayQueueUrl, deadLetters: deadLettersUrl };
}

type FlagParsers = Readonly<{
  addError: AddError;
  seconds: (option: string, text: string, min: number, max: number) => number;
}>;

/** The shards of one installation all run, so each has a Lease of its own by default. */
function leaderElectionOf(
  flags: ControllerFlags & Readonly<{ leaderElectLeaseDuration: string; leaderElectResourceName: string }>,
  shard: string | undefined,
  { addError, seconds }: FlagParsers,
): LeaderElectionConfig | undefined {
  const { leaderElectKubeconfig: kubeconfig, leaderElectResourceNamespace: namespace } = flags;
  const texts = { namespace, name: flags.leaderElectResourceName };
  for (const [which, text] of Object.entries(texts)) {
    if (text === undefined || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) continue;
    addError(`leader-elect-resource-${which}`, `"${text}" is not a name like tmc-controller`);
  }
  // Renewals of a shorter Lease would be more work for the API server than the take-over is worth.
  const durationSeconds = seconds("leader-elect-lease-duration", flags.leaderElectLeaseDuration, 3, 3600);
  if (flags.leaderElect !== true) {
    if (kubeconfig !== undefined) addError("leader-elect-kubeconfig", "requires --leader-elect");
    if (namespace !== undefined) addError("leader-elect-resource-namespace", "requires --leader-elect");
    return undefined;
  }
  if (flags.queueUrl !== undefined) {
    addError("leader-elect", "has no use with --queue-url: controllers that share a queue work at the same time");
  }
  const name = flags.leaderElectResourceName;
  const isDefault = name === flagDefaults.leaderElectResourceName;
  return { kubeconfig, namespace, name: isDefault && shard !== undefined ? `${name}-${shard}` : name, durationSeconds };
}

/** Adds errors of the source flags to `errors`. */
function sourcesOf(flags: ControllerFlags, errors: string[]): SourceConfig {
  try {
    const config = parseSourceFlags(flags);
    if (hasExternalSources(config.sources)) {
      const remedy = `omit it or set ${sourceFlagDefaults.clusterSource}`;
      if (flags.apiExport !== undefined) {
        errors.push(`--cluster-source: an export shows only its own kinds; with --api-export ${remedy}`);
      }
      if (flags.queueUrl !== undefined) {
        errors.push(
          `--cluster-source: cluster status is kept in the memory of one process; with --queue-url ${remedy}`,
        );
      }
      if (config.shard !== undefined) {
        errors.push(
          `--cluster-source: cluster status is kept in the memory of one process; with --cluster-shard-id ${remedy}`,
        );
      }
    }
    return config;
  } catch (error) {
    errors.push(error instanceof Error ? error.message : String(error));
    return parseSourceFlags({});
  }
}

function ignoresHubControllers(
  { hub, hubControllers }: Pick<ControllerFlags, "hub" | "hubControllers">,
  addError: AddError,
): boolean {
  if (hubControllers !== "detect" && hubControllers !== "ignore") {
    addError("hub-controllers", `"${hubControllers}" is not detect or ignore`);
  } else if (hubControllers === "ignore" && hub !== "kubernetes") {
    addError("hub-controllers", "has no effect without --hub kubernetes: kcp runs no workloads");
  }
  return hubControllers === "ignore";
}

function kubeconfigsOf(
  { clusterKubeconfigs, clusterKubeconfigSecretTemplate, apiExport }: ControllerFlags,
  workspaces: readonly string[] | undefined,
  addError: AddError,
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const entries = listOf(clusterKubeconfigs);
  if (clusterKubeconfigSecretTemplate !== undefined) {
    // The template applies to every cluster that names no credentials, so a kubeconfig by name would never be used.
    if (entries.some((entry) => entry !== "none")) {
      addError("cluster-kubeconfigs", "has no effect with --cluster-kubeconfig-secret-template: set only one of them");
    }
    return files;
  }
  if (apiExport !== undefined) {
    // Any tenant could register a cluster of that name and would get the operator's credentials.
    if (entries.some((entry) => entry !== "none")) {
      addError(
        "cluster-kubeconfigs",
        "is by name, and every tenant can choose that name: with --api-export it must be none",
      );
    }
    return files;
  }
  if (entries.length === 0) {
    addError(
      "cluster-kubeconfigs",
      "is missing: name=path of a kubeconfig for each cluster, comma-separated, or none if registrations name secrets",
    );
  }
  if (entries.length === 1 && entries[0] === "none") return files;
  for (const entry of entries) {
    const at = entry.indexOf("=");
    const [cluster, path] = [entry.slice(0, Math.max(0, at)).trim(), entry.slice(at + 1).trim()];
    const why = cluster === "" || path === "" ? `"${entry}" is not name=path` : clusterNameError(cluster, workspaces);
    if (why !== undefined) addError("cluster-kubeconfigs", why);
    else if (files.has(cluster)) addError("cluster-kubeconfigs", `"${cluster}" is given twice`);
    else files.set(cluster, path);
  }
  return files;
}

/** Why a cluster cannot be named so; undefined if it can: `east`, or `root:team/east`. */
function clusterNameError(cluster: string, workspaces: readonly string[] | undefined): string | undefined {
  const slash = cluster.indexOf("/");
  const workspace = slash < 0 ? undefined : cluster.slice(0, slash);
  const name = cluster.slice(slash + 1);
  if (workspace !== undefined && isWorkspaceAddress(workspace) && workspaces?.includes(workspace) !== true) {
    return `"${cluster}": "${workspace}" is not one of --workspace`;
  }
  if (!clusterNamePattern.test(name) || (workspace !== undefined && !isWorkspaceAddress(workspace))) {
    return `"${cluster}" is not the name of a cluster`;
  }
  if (workspace === undefined && workspaces !== undefined && workspaces.length > 1) {
    return `"${cluster}" is by name, and each workspace can register that name: write ${workspaces[0]}/${cluster}=path`;
  }
  return undefined;
}

function endpointsOf({ allowEndpoints }: ControllerFlags, addError: AddError): readonly string[] {
  try {
    return (allowEndpoints ?? []).flatMap(parseRanges);
  } catch (error) {
    addError("allow-endpoints", error instanceof Error ? error.message : String(error));
    return [];
  }
}

function listOf(texts: readonly string[] = []): string[] {
  return texts
    .flatMap((text) => text.split(","))
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
