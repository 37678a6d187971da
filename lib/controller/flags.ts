import { ControllerError } from "@tmc/kube/fault.ts";
import { durationForm, parseDurationSeconds } from "../model/duration.ts";
import type { KnownQueues } from "../queue/queue-stats.ts";
import { defaultTenantEventsPerSecond, mostTenantEventsPerSecond } from "../queue/tenant-rate-limit.ts";
import { parseSourceFlags, type SourceConfig, type SourceFlags, sourceFlagDefaults } from "../sources/flags.ts";
import { hasForeign } from "../sources/source-kinds.ts";
import type { DeletionGuardSettings } from "../sync/eviction/deletion-guard.ts";
import { type DeletionGuardFlags, parseDeletionGuard } from "../sync/eviction/deletion-guard-settings.ts";
import { type ExportAddress, exportAddressForm, parseExportAddress } from "../upstream/export/address.ts";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";

/** What the command line gave, as text; what was not given is missing. */
export type ControllerFlags = SourceFlags &
  DeletionGuardFlags &
  Readonly<{
    kcpKubeconfig?: string | undefined;
    /** Given several times, or as a list with commas. */
    workspace?: readonly string[] | undefined;
    /** In place of workspaces: the export whose tenants are all served, `root:tmc:tmc.kcp.io`. */
    apiExport?: string | undefined;
    /** `name=path,…`, given once or several times. */
    clusterKubeconfigs?: readonly string[] | undefined;
    /** `kcp`, or `kubernetes` for a plain cluster that has our kinds. */
    hub?: string | undefined;
    /** Files with CustomResourceDefinitions, given once or several times. */
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
    allowPrivateEndpoints?: boolean | undefined;
    /** The work queue on SQS, in place of one in memory. */
    queueUrl?: string | undefined;
    delayQueueUrl?: string | undefined;
    deadLettersUrl?: string | undefined;
  }>;

/** Everything that a controller is told from outside, checked. */
export type ControllerConfig = Readonly<{
  kcpKubeconfig: string;
  /** Undefined for a plain Kubernetes cluster, and for all tenants of an export. */
  workspaces: readonly string[] | undefined;
  /** The export whose tenants are served; undefined where workspaces are named, and for a plain cluster. */
  apiExport: ExportAddress | undefined;
  /** Paths of kubeconfigs by the name of the registration they are for. */
  clusterKubeconfigs: ReadonlyMap<string, string>;
  /** Files with the definitions of types that are workloads as well. */
  crds: readonly string[];
  /** What makes clusters known, where their credentials are, and which part of them is this process's. */
  clusterSources: SourceConfig;
  metricsPort: number;
  healthPort: number;
  /** As klog has it: 0 is quiet, 2 the usual, 4 and more for looking closely. */
  logLevel: number;
  resyncSeconds: number;
  workers: number;
  syncWorkers: number;
  /** Keys of one tenant that are worked on at once; undefined for what fits the workers. */
  tenantConcurrency: number | undefined;
  /** From 0 to 1. */
  tenantShare: number | undefined;
  /** Keys of one tenant that leave the relay in a second; 0 for any number. */
  tenantEventsPerSecond: number;
  heartbeatSeconds: number;
  /** How many copies may leave at once without anybody being asked. */
  brake: DeletionGuardSettings;
  /** Whether secrets of tenants may name servers on this machine or in private networks. */
  allowPrivateEndpoints: boolean;
  /** The queues that are shared with other processes; undefined for one in memory. Those that were not named are found. */
  queues: KnownQueues | undefined;
}>;

/** What each option is when it is not given. */
export const flagDefaults = {
  hub: "kcp",
  resyncPeriod: "30s",
  workerCount: "5",
  syncWorkerCount: "32",
  metricsPort: "8080",
  healthPort: "8081",
  logLevel: "2",
  heartbeatInterval: "30s",
} as const;

const clusterNamePattern = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/**
 * Checks the options of the controller and gives them their types. Everything that is wrong is named in one error, each with
 * the form it should have.
 */
export function parseControllerFlags(flags: ControllerFlags): ControllerConfig {
  const problems: string[] = [];
  const wrong = (option: string, why: string): void => void problems.push(`--${option} ${why}`);
  const given = { ...flagDefaults, ...definedOf(flags) };

  const wholeNumber = (option: string, text: string, least: number, most: number): number => {
    const value = /^[0-9]{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    wrong(option, `"${text}" is not a whole number from ${least} to ${most}`);
    return least;
  };
  const seconds = (option: string, text: string, least: number, most: number): number => {
    const value = parseDurationSeconds(text.trim());
    if (value === undefined) wrong(option, `"${text}" is not ${durationForm}`);
    else if (value < least || value > most) wrong(option, `"${text}" is not between ${least}s and ${most / 3600}h`);
    return value ?? least;
  };

  const kcpKubeconfig = flags.kcpKubeconfig?.trim() ?? "";
  if (kcpKubeconfig === "") wrong("kcp-kubeconfig", "is missing: the path of a kubeconfig for kcp");
  const apiExport = exportOf(given, wrong);
  const workspaces = workspacesOf(given, wrong);
  const clusterKubeconfigs = kubeconfigsOf(given, wrong);
  const metricsPort = wholeNumber("metrics-port", given.metricsPort, 0, 65_535);
  const healthPort = wholeNumber("health-port", given.healthPort, 0, 65_535);
  if (metricsPort === healthPort && metricsPort !== 0) {
    wrong("health-port", `${healthPort} is taken by --metrics-port: each needs a port of its own`);
  }
  const config: ControllerConfig = {
    kcpKubeconfig,
    workspaces,
    apiExport,
    clusterKubeconfigs,
    crds: flags.crd ?? [],
    clusterSources: sourcesOf(flags, problems),
    metricsPort,
    healthPort,
    logLevel: wholeNumber("log-level", given.logLevel, 0, 10),
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
        ? usualEventsPerSecond(flags)
        : wholeNumber("tenant-events-per-second", given.tenantEventsPerSecond, 0, mostTenantEventsPerSecond),
    heartbeatSeconds: seconds("heartbeat-interval", given.heartbeatInterval, 1, 24 * 3600),
    brake: parseDeletionGuard(flags, (which, why) => wrong(optionOf(which), why)),
    allowPrivateEndpoints: flags.allowPrivateEndpoints === true,
    queues: queuesOf(flags, wrong),
  };
  for (const which of ["tenantConcurrency", "tenantShare"] as const) {
    if (flags[which] === undefined || flags.queueUrl === undefined) continue;
    wrong(optionOf(which), "is for a queue in memory: with --queue-url nobody can choose whose key comes next");
  }
  if (problems.length > 0) throw new ControllerError("invalid", problems.join("; "));
  return config;
}

/** The queue in memory has tenants take turns; one on SQS knows of none, so that their shares are kept before it. */
function usualEventsPerSecond({ queueUrl }: ControllerFlags): number {
  return queueUrl === undefined ? 0 : defaultTenantEventsPerSecond;
}

/** `max-deletions` for `maxDeletions`. */
const optionOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

type Wrong = (option: string, why: string) => void;

function definedOf(
  flags: ControllerFlags,
): Partial<{ [Flag in keyof ControllerFlags]: NonNullable<ControllerFlags[Flag]> }> {
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
}

function exportOf({ hub, workspace, apiExport }: ControllerFlags, wrong: Wrong): ExportAddress | undefined {
  if (apiExport === undefined) return undefined;
  const address = parseExportAddress(apiExport.trim());
  if (hub === "kubernetes") wrong("api-export", "is for kcp: a plain Kubernetes hub has no exports");
  else if (listOf(workspace).length > 0) wrong("api-export", "takes the place of --workspace: leave one out");
  else if (address === undefined) wrong("api-export", `"${apiExport}" is not ${exportAddressForm}`);
  return address;
}

function workspacesOf({ hub, workspace, apiExport }: ControllerFlags, wrong: Wrong): readonly string[] | undefined {
  const named = listOf(workspace);
  if (hub === "kubernetes") {
    if (named.length > 0) wrong("workspace", "is for kcp: a plain Kubernetes hub has no workspaces");
    return undefined;
  }
  if (hub !== "kcp") wrong("hub", `"${hub}" is not kcp or kubernetes`);
  if (named.length === 0) {
    if (apiExport !== undefined) return undefined;
    wrong("workspace", "is missing: a path like root:org:team, or several with commas between; or --api-export");
  }
  for (const path of named) {
    if (!isWorkspaceAddress(path)) wrong("workspace", `"${path}" is not a path like root:org:team`);
  }
  return [...new Set(named)];
}

function queuesOf({ queueUrl, delayQueueUrl, deadLettersUrl }: ControllerFlags, wrong: Wrong): KnownQueues | undefined {
  const urls = { "queue-url": queueUrl, "delay-queue-url": delayQueueUrl, "dead-letters-url": deadLettersUrl };
  for (const [option, url] of Object.entries(urls)) {
    if (url === undefined) continue;
    if (!URL.canParse(url) || !/^https?:/.test(url)) wrong(option, `"${url}" is not the URL of a queue`);
    else if (queueUrl === undefined) wrong(option, "goes with --queue-url");
  }
  if (queueUrl === undefined) return undefined;
  return { work: queueUrl, delay: delayQueueUrl, deadLetters: deadLettersUrl };
}

/** What is wrong with the options about sources is added to the problems. */
function sourcesOf(flags: ControllerFlags, problems: string[]): SourceConfig {
  try {
    const config = parseSourceFlags(flags);
    if (hasForeign(config.sources)) {
      const remedy = `leave it out, or let it be ${sourceFlagDefaults.clusterSource}`;
      if (flags.apiExport !== undefined) {
        problems.push(`--cluster-source: an export shows no kinds but its own; with --api-export ${remedy}`);
      }
      if (flags.queueUrl !== undefined) {
        problems.push(`--cluster-source: what is found out stays in one process; with --queue-url ${remedy}`);
      }
      if (config.shard !== undefined) {
        problems.push(`--cluster-source: what is found out stays in one process; with --cluster-shard-id ${remedy}`);
      }
    }
    return config;
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
    return parseSourceFlags({});
  }
}

function kubeconfigsOf(
  { clusterKubeconfigs, clusterKubeconfigSecretTemplate, apiExport }: ControllerFlags,
  wrong: Wrong,
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const entries = listOf(clusterKubeconfigs);
  if (clusterKubeconfigSecretTemplate !== undefined) {
    // Whoever names no credentials has those of the template: nobody is left who would be looked for by name.
    if (entries.some((entry) => entry !== "none")) {
      wrong("cluster-kubeconfigs", "has no meaning beside --cluster-kubeconfig-secret-template: leave one out");
    }
    return files;
  }
  if (apiExport !== undefined) {
    // Any tenant could register a cluster by such a name, and would be let into the operator's.
    if (entries.some((entry) => entry !== "none")) {
      wrong("cluster-kubeconfigs", "goes by names that every tenant can take: with --api-export it is none");
    }
    return files;
  }
  if (entries.length === 0) {
    wrong(
      "cluster-kubeconfigs",
      "is missing: name=path of a kubeconfig for each cluster, with commas between, or none when registrations name secrets",
    );
  }
  if (entries.length === 1 && entries[0] === "none") return files;
  for (const entry of entries) {
    const at = entry.indexOf("=");
    const [name, path] = [entry.slice(0, Math.max(0, at)).trim(), entry.slice(at + 1).trim()];
    if (name === "" || path === "") wrong("cluster-kubeconfigs", `"${entry}" is not name=path`);
    else if (!clusterNamePattern.test(name)) wrong("cluster-kubeconfigs", `"${name}" is not the name of a cluster`);
    else if (files.has(name)) wrong("cluster-kubeconfigs", `"${name}" is given twice`);
    else files.set(name, path);
  }
  return files;
}

function listOf(texts: readonly string[] = []): string[] {
  return texts
    .flatMap((text) => text.split(","))
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
