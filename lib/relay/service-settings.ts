import { ControllerError } from "@tmc/kube/fault.ts";
import { type Environment, readEnvironment } from "../engine/environment.ts";

/** Everything that the relay is told from outside, checked. */
export type RelaySettings = Pick<
  Environment,
  | "stage"
  | "logLevel"
  | "apiExport"
  | "workQueueUrl"
  | "tenantEventsPerSecond"
  | "sync"
  | "watchClusters"
  | "credentialProviders"
  | "allowedEndpoints"
> &
  Readonly<{
    /** Where the hub's kubeconfig is: a secret of Secrets Manager, or a file. */
    kubeconfig: Readonly<{ secret: string } | { path: string }>;
    /** Undefined for a plain Kubernetes cluster, and for all tenants of an export. */
    workspaces: readonly string[] | undefined;
    metricsPort: number;
    healthPort: number;
  }>;

type Variables = Readonly<Record<string, string | undefined>>;

const defaultPorts = { TMC_METRICS_PORT: 8080, TMC_HEALTH_PORT: 8081 } as const;

/** Reads the relay's environment; everything that is wrong with it is named in one error. */
export function readRelaySettings(variables: Variables): RelaySettings {
  const problems: string[] = [];
  const path = variables.TMC_KCP_KUBECONFIG?.trim() ?? "";
  const portOf = (variable: keyof typeof defaultPorts): number => {
    const text = variables[variable]?.trim() ?? "";
    const port = text === "" ? defaultPorts[variable] : /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (port <= 65_535) return port;
    problems.push(`${variable} has to be a whole number from 0 to 65535`);
    return 0;
  };
  const metricsPort = portOf("TMC_METRICS_PORT");
  const healthPort = portOf("TMC_HEALTH_PORT");
  if (metricsPort === healthPort && metricsPort !== 0) problems.push("TMC_HEALTH_PORT is the same as TMC_METRICS_PORT");

  const common = [
    "stage",
    "logLevel",
    "hub",
    "workspaces",
    "apiExport",
    "workQueueUrl",
    "tenantEventsPerSecond",
    "sync",
    "watchClusters",
    "credentialProviders",
    "allowedEndpoints",
  ] as const;
  const read = attempt(problems, () => readEnvironment(variables, common));
  const secret =
    path === "" ? attempt(problems, () => readEnvironment(variables, ["kcpSecret"]))?.kcpSecret : undefined;
  if (problems.length > 0 || read === undefined) {
    throw new ControllerError("invalid", `environment: ${problems.join("; ")}`);
  }
  const { hub, workspaces, apiExport, ...told } = read;
  return {
    ...told,
    kubeconfig: secret === undefined ? { path } : { secret },
    workspaces: hub === "kcp" && apiExport === undefined ? workspaces : undefined,
    apiExport,
    metricsPort,
    healthPort,
  };
}

function attempt<T>(problems: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ControllerError)) throw error;
    problems.push(error.message.replace(/^environment: /, ""));
    return undefined;
  }
}
