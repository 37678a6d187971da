import { isRecord } from "@tmc/kube/json.ts";
import { concurrencyDemand, defaultConcurrency, type FunctionConcurrency } from "../../engine/settings.ts";
import { UsageError } from "../cli-io.ts";

/** The settings of a deployment that `tmc doctor aws` needs. */
export type DoctorSettings = Readonly<{
  kcpSecret: string;
  relaySecret: string;
  concurrency: FunctionConcurrency;
  isReserved: boolean;
  /** Whether the deployment builds the image of the relay, with Docker. */
  buildsImage: boolean;
}>;

/** Reads the settings from the text of tmc.config.json. The deployment itself validates them; here only types are checked. */
export function parseDoctorSettings(text: string, path: string): DoctorSettings {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new UsageError(`${path} is not JSON`);
  }
  if (!isRecord(given)) throw new UsageError(`${path} must be a JSON object`);
  // Settings are nested, or have paths like relay.mode.
  const value = (group: string, name: string): unknown => {
    const nested = given[group];
    return given[`${group}.${name}`] ?? (isRecord(nested) ? nested[name] : undefined);
  };
  const concurrencyOf = (name: keyof FunctionConcurrency): number => {
    const number = Number(value("concurrency", name) ?? defaultConcurrency[name]);
    if (!Number.isSafeInteger(number)) throw new UsageError(`${path}: concurrency.${name} must be a whole number`);
    return number;
  };
  const stage = typeof given.stage === "string" ? given.stage : "dev";
  const kcpSecret = typeof given.kcpSecret === "string" ? given.kcpSecret : `tmc-${stage}-kcp`;
  const relaySecret = value("relay", "kcpSecret");
  return {
    kcpSecret,
    relaySecret: typeof relaySecret === "string" ? relaySecret : kcpSecret,
    concurrency: {
      reconcile: concurrencyOf("reconcile"),
      forward: concurrencyOf("forward"),
      probe: concurrencyOf("probe"),
    },
    isReserved: String(value("concurrency", "reserve")) === "true",
    buildsImage: value("relay", "mode") !== "external" && value("relay", "image") === undefined,
  };
}

/** A fact, or the reason why it could not be read. */
export type FactRead<T> = Readonly<{ value: T } | { reason: string }>;

/** What a deployment on AWS depends on, as far as it can be read before the deployment. */
export type AwsFacts = Readonly<{
  region: string;
  concurrency: FunctionConcurrency;
  /** Whether these concurrencies are reserved. */
  isReserved: boolean;
  /** The account's quota, and what other functions have not reserved of it. */
  quota: FactRead<Readonly<{ total: number; unreserved: number }>>;
  /** Version of the CDK bootstrap stack; undefined if there is none. */
  bootstrap: FactRead<number | undefined>;
  secrets: readonly Readonly<{ name: string; users: string; content: FactRead<Readonly<{ server: string }>> }>[];
  /** HTTP status of `/readyz` of the upstream, with the credentials of the first secret. */
  upstream: FactRead<Readonly<{ server: string; status: number }>> | undefined;
  /** Version of Docker; undefined if the deployment builds no image. */
  docker: FactRead<string> | undefined;
}>;

export type DoctorCheck = Readonly<{ name: string; result: "ok" | "warning" | "failed"; detail: string }>;

/** The oldest bootstrap stack that the synthesizer of aws-cdk-lib 2 accepts. */
const minBootstrapVersion = 6;
/** AWS refuses reservations that leave less to the functions without one. */
const minUnreserved = 100;

/** Decides what would fail, or run badly, in a deployment. */
export function decideAwsChecks(facts: AwsFacts): readonly DoctorCheck[] {
  return [
    concurrencyCheck(facts),
    bootstrapCheck(facts),
    ...facts.secrets.map(secretCheck),
    ...(facts.upstream === undefined ? [] : [upstreamCheck(facts.upstream)]),
    ...(facts.docker === undefined ? [] : [dockerCheck(facts.docker)]),
  ];
}

function concurrencyCheck({ concurrency, isReserved, quota }: AwsFacts): DoctorCheck {
  const name = "concurrency";
  if ("reason" in quota)
    return { name, result: "warning", detail: `the quota of the account is unknown: ${quota.reason}` };
  const { total, unreserved } = quota.value;
  const demand = concurrencyDemand(concurrency);
  const { reconcile, forward, probe } = concurrency;
  const reserved = reconcile + forward + probe;
  if (isReserved && unreserved - reserved < minUnreserved) {
    const detail = `concurrency.reserve reserves ${reserved}, and AWS requires that ${minUnreserved} of ${unreserved} stay unreserved: set it to false, or request a higher quota`;
    return { name, result: "failed", detail };
  }
  if (demand > unreserved) {
    const detail = `the functions use up to ${demand} concurrent executions, and the account has ${unreserved} (quota ${total}): invocations are throttled and keys wait; request a higher quota, or lower concurrency.reconcile, concurrency.forward and concurrency.probe`;
    return { name, result: "failed", detail };
  }
  return { name, result: "ok", detail: `up to ${demand} of ${unreserved} concurrent executions` };
}

function bootstrapCheck({ bootstrap, region }: AwsFacts): DoctorCheck {
  const name = "bootstrap";
  const remedy = "run npm run cdk -- bootstrap";
  if ("reason" in bootstrap) return { name, result: "warning", detail: `unknown: ${bootstrap.reason}` };
  const version = bootstrap.value;
  if (version === undefined) return { name, result: "failed", detail: `${region} is not bootstrapped: ${remedy}` };
  if (version < minBootstrapVersion)
    return { name, result: "failed", detail: `version ${version} is older than ${minBootstrapVersion}: ${remedy}` };
  return { name, result: "ok", detail: `version ${version} in ${region}` };
}

function secretCheck({ name: secret, users, content }: AwsFacts["secrets"][number]): DoctorCheck {
  const name = `secret ${secret}`;
  if ("reason" in content) return { name, result: "failed", detail: `${users} cannot start: ${content.reason}` };
  return { name, result: "ok", detail: `for ${users}; its server is ${content.value.server}` };
}

function upstreamCheck(upstream: NonNullable<AwsFacts["upstream"]>): DoctorCheck {
  const name = "upstream";
  if ("reason" in upstream)
    return { name, result: "failed", detail: `not reachable from this machine: ${upstream.reason}` };
  const { server, status } = upstream.value;
  if (status === 401) return { name, result: "failed", detail: `${server} rejects the credentials (401)` };
  if (status >= 500) return { name, result: "failed", detail: `${server} is not ready (${status})` };
  // A 403 still shows that it is reachable, with valid credentials.
  return { name, result: "ok", detail: `${server} responds to this machine` };
}

function dockerCheck(docker: FactRead<string>): DoctorCheck {
  const name = "docker";
  if ("value" in docker) return { name, result: "ok", detail: `version ${docker.value}` };
  const detail = `the image of the relay cannot be built: ${docker.reason}; set relay.image, or relay.mode to external`;
  return { name, result: "failed", detail };
}
