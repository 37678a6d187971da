import { ControllerError } from "@tmc/kube/fault.ts";
import { type Environment, readEnvironment } from "../../engine/environment.ts";

/** The validated settings of a relay process. */
export type RelaySettings = Pick<
  Environment,
  | "stage"
  | "logLevel"
  | "hubId"
  | "apiExport"
  | "workQueueUrl"
  | "tenantEventsPerSecond"
  | "sync"
  | "watchClusters"
  | "credentialProviders"
  | "allowedEndpoints"
> &
  Readonly<{
    /** The source of the upstream kubeconfig: a Secrets Manager secret, or a file. */
    kubeconfig: Readonly<{ secret: string } | { path: string }>;
    /** Undefined for a plain Kubernetes cluster, and for all tenants of an export. */
    workspaces: readonly string[] | undefined;
    metricsPort: number;
    healthPort: number;
    /** How the metrics that alarms read reach CloudWatch: as log lines, by its API in this region, or not at all. */
    cloudWatch: Readonly<{ by: "log" } | { by: "none" } | { by: "api"; region: string }>;
  }>;

type Variables = Readonly<Record<string, string | undefined>>;

const defaultPorts = { TMC_METRICS_PORT: 8080, TMC_HEALTH_PORT: 8081 } as const;

/** Reads the settings from environment variables; one error lists everything that is invalid. */
export function readRelaySettings(variables: Variables): RelaySettings {
  const errors: string[] = [];
  const path = variables.TMC_KCP_KUBECONFIG?.trim() ?? "";
  const portOf = (variable: keyof typeof defaultPorts): number => {
    const text = variables[variable]?.trim() ?? "";
    const port = text === "" ? defaultPorts[variable] : /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (port <= 65_535) return port;
    errors.push(`${variable} must be an integer from 0 to 65535`);
    return 0;
  };
  const metricsPort = portOf("TMC_METRICS_PORT");
  const healthPort = portOf("TMC_HEALTH_PORT");
  const cloudWatch = cloudWatchOf(variables, errors);
  if (metricsPort === healthPort && metricsPort !== 0) errors.push("TMC_HEALTH_PORT is the same as TMC_METRICS_PORT");

  const common = [
    "stage",
    "logLevel",
    "hub",
    "hubId",
    "workspaces",
    "apiExport",
    "workQueueUrl",
    "tenantEventsPerSecond",
    "sync",
    "watchClusters",
    "credentialProviders",
    "allowedEndpoints",
  ] as const;
  const read = attempt(errors, () => readEnvironment(variables, common));
  const secret = path === "" ? attempt(errors, () => readEnvironment(variables, ["kcpSecret"]))?.kcpSecret : undefined;
  if (errors.length > 0 || read === undefined) {
    throw new ControllerError("invalid", `environment: ${errors.join("; ")}`);
  }
  const { hub, workspaces, apiExport, ...rest } = read;
  return {
    ...rest,
    kubeconfig: secret === undefined ? { path } : { secret },
    workspaces: hub === "kcp" && apiExport === undefined ? workspaces : undefined,
    apiExport,
    metricsPort,
    healthPort,
    cloudWatch,
  };
}

/** In ECS, CloudWatch reads the log of the relay. Elsewhere an operator chooses. */
function cloudWatchOf(variables: Variables, errors: string[]): RelaySettings["cloudWatch"] {
  const isEcs = variables.ECS_CONTAINER_METADATA_URI_V4 !== undefined;
  const by = variables.TMC_CLOUDWATCH_METRICS?.trim() || (isEcs ? "log" : "none");
  if (by === "log") return { by };
  if (by === "none") return { by };
  const region = variables.AWS_REGION?.trim() ?? "";
  if (by !== "api") errors.push("TMC_CLOUDWATCH_METRICS must be one of log, api, none");
  else if (!/^[a-z]{2}(-[a-z]+){1,2}-\d{1,2}$/.test(region))
    errors.push("TMC_CLOUDWATCH_METRICS=api requires AWS_REGION");
  return { by: "api", region };
}

function attempt<T>(errors: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ControllerError)) throw error;
    errors.push(error.message.replace(/^environment: /, ""));
    return undefined;
  }
}
