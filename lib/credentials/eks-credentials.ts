import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import { formatKey } from "../model/key.ts";
import type { CallAws } from "./aws-call.ts";
import { type AwsCredentials, type AwsIdentity, awsDomain, awsPartition, presignUrl } from "./aws-sign.ts";
import {
  asOutcome,
  type CredentialSource,
  type CredentialsWanted,
  type NotConfigured,
  notConfigured,
  tenantName,
} from "./credentials.ts";
import { type EndpointRules, serverRefusal } from "./endpoint-rules.ts";
import { createRemembered, type Read } from "./expiring-cache.ts";

export type EksCredentialsOptions = Readonly<{
  callAws: CallAws;
  awsCredentials: AwsCredentials;
  /** For clusters in accounts that tenants name. */
  rules: EndpointRules;
  clock: Clock;
  random: () => number;
}>;

/** The tag by which the owner of an EKS cluster says which logical cluster may register it. */
export const logicalClusterTag = "tmc.kcp.io/logical-cluster";

/** A token holds for fifteen minutes: used for ten, it never ends under way. */
const rememberMs = 10 * 60_000;
const rememberMissingMs = 60_000;

type Named = Readonly<{ clusterName: string; region: string; account?: string | undefined }>;
type Kept = Readonly<{ generation: number; result: Endpoint | NotConfigured; givenBy: "operator" | "tenant" }>;

/**
 * Credentials for EKS clusters, without anything that is stored: address and certificates come from AWS, and the token is
 * signed with our own identity.
 *
 * A tenant only names the cluster. It is theirs to name when the cluster carries a tag with their logical cluster; one that
 * does not looks the same as one that is not there, so that nobody can find out which there are.
 */
export function createEksCredentials(options: EksCredentialsOptions): CredentialSource {
  const { callAws, awsCredentials, rules, clock, random } = options;
  const remembered = createRemembered<Kept>({ clock, random });

  const find = async (named: Named, tenant: string): Promise<Endpoint | NotConfigured> => {
    const { clusterName, region, account } = named;
    let identity: AwsIdentity;
    try {
      identity =
        account === undefined
          ? await awsCredentials()
          : await assumeTenantRole({ account, region, tenant }, { callAws, awsCredentials });
    } catch (error) {
      if (account === undefined || faultOf(error) !== "forbidden") throw error;
      const role = roleArnOf({ account, region, tenant });
      return notConfigured(`AWS does not let TMC take the role ${role} with the external id ${tenant}`);
    }
    const described = await describe(named, identity, callAws);
    if (described === "refused") return notConfigured(`AWS does not let TMC look at EKS clusters in ${region}`);
    if (described?.tags[logicalClusterTag] !== tenant) {
      const what = `EKS cluster "${clusterName}" in ${region}`;
      return notConfigured(
        `${what} is not there, or is not tagged ${logicalClusterTag}=${tenant}`,
        "CredentialsInvalid",
      );
    }
    const { server, ca } = described;
    if (server === undefined || ca === undefined)
      return notConfigured(`EKS cluster "${clusterName}" has no endpoint yet`);
    const refusal = account === undefined ? undefined : serverRefusal(server, rules);
    if (refusal !== undefined) return notConfigured(refusal, "EndpointNotAllowed");
    const token = await createEksToken(named, { identity, atMs: clock.now() });
    return { server, ca, token: async () => token };
  };

  const read = async ({ key, registration }: CredentialsWanted, named: Named): Promise<Read<Kept>> => {
    const result = await find(named, tenantName(key.logicalCluster));
    const givenBy = named.account === undefined ? "operator" : "tenant";
    const generation = registration.metadata.generation ?? 0;
    return { value: { generation, result, givenBy }, rememberMs: "kind" in result ? rememberMissingMs : rememberMs };
  };

  return {
    find: async (wanted, signal) => {
      const named = wanted.registration.spec.credentials?.eks;
      if (named === undefined) return notConfigured("the registration names no EKS cluster");
      const id = formatKey(wanted.key);
      const ask = (): Promise<Kept> => remembered.get(id, () => read(wanted, named), signal);
      let kept = await ask();
      if (kept.generation !== (wanted.registration.metadata.generation ?? 0)) {
        remembered.forget(id); // it may name another cluster now
        kept = await ask();
      }
      return "kind" in kept.result
        ? kept.result
        : asOutcome(kept.result, { givenBy: kept.givenBy, nowMs: clock.now() });
    },
    forget: (key) => remembered.forget(formatKey(key)),
  };
}

type Described = Readonly<{
  server: string | undefined;
  ca: string | undefined;
  tags: Readonly<Record<string, unknown>>;
}>;

/** Asks AWS about a cluster; undefined when there is none of that name. */
async function describe(
  { clusterName, region }: Named,
  identity: AwsIdentity,
  callAws: CallAws,
): Promise<Described | "refused" | undefined> {
  let text: string;
  try {
    const hostname = `eks.${region}.${awsDomain(region)}`;
    const path = `/clusters/${encodeURIComponent(clusterName)}`;
    text = await callAws({ method: "GET", hostname, path }, { identity, service: "eks", region });
  } catch (error) {
    if (faultOf(error) === "not-found") return undefined;
    if (faultOf(error) === "forbidden") return "refused";
    throw error;
  }
  const cluster = clusterOf(text, region);
  const { endpoint, certificateAuthority, tags } = cluster;
  const data = isRecord(certificateAuthority) ? certificateAuthority.data : undefined;
  return {
    server: typeof endpoint === "string" && endpoint !== "" ? endpoint.replace(/\/+$/, "") : undefined,
    ca: typeof data === "string" && data !== "" ? Buffer.from(data, "base64").toString("utf8") : undefined,
    tags: isRecord(tags) ? tags : {},
  };
}

function clusterOf(text: string, region: string): Readonly<Record<string, unknown>> {
  try {
    const answer: unknown = JSON.parse(text);
    if (isRecord(answer) && isRecord(answer.cluster)) return answer.cluster;
  } catch {
    // Told below: the parser's words repeat the answer.
  }
  throw new ControllerError("unreachable", `aws eks in ${region}: answer describes no cluster`);
}

/**
 * Makes a token for an EKS cluster: a question to STS, "who am I?", signed for this one cluster, that the cluster asks in our
 * name. It holds for the cluster of that name wherever it is sent, so it may go to that cluster's own endpoint alone.
 */
export async function createEksToken(
  cluster: Readonly<{ clusterName: string; region: string }>,
  signing: Readonly<{ identity: AwsIdentity; atMs: number }>,
): Promise<string> {
  const { clusterName, region } = cluster;
  const url = await presignUrl(
    {
      method: "GET",
      hostname: `sts.${region}.${awsDomain(region)}`,
      path: "/",
      query: { Action: "GetCallerIdentity", Version: "2011-06-15" },
      headers: { "x-k8s-aws-id": clusterName },
    },
    { ...signing, service: "sts", region },
    // In the URL the header would count for nothing, and the cluster refuses the token.
    { expiresInSeconds: 60, signedHeaders: ["x-k8s-aws-id"] },
  );
  return `k8s-aws-v1.${Buffer.from(url).toString("base64url")}`;
}

/** The shortest session that STS gives; nothing here lasts longer. */
const sessionSeconds = 900;

export type AssumeRoleOptions = Readonly<{
  callAws: CallAws;
  awsCredentials: AwsCredentials;
}>;

/** A role of another account that a tenant has made for us: both its name and the external id follow from the tenant. */
export type TenantRole = Readonly<{ account: string; region: string; tenant: string }>;

/** The role's name, for messages and for whoever has to make it. */
export function roleArnOf({ account, region, tenant }: TenantRole): string {
  return `arn:${awsPartition(region)}:iam::${account}:role/tmc/${tenant}`;
}

/**
 * Takes a tenant's role. The external id is the tenant's own name, so that a role which trusts us for one tenant cannot be
 * taken for another (the confused deputy).
 */
export async function assumeTenantRole(role: TenantRole, options: AssumeRoleOptions): Promise<AwsIdentity> {
  const { callAws, awsCredentials } = options;
  const { region, tenant } = role;
  const text = await callAws(
    {
      method: "GET",
      hostname: `sts.${region}.${awsDomain(region)}`,
      path: "/",
      query: {
        Action: "AssumeRole",
        Version: "2011-06-15",
        RoleArn: roleArnOf(role),
        RoleSessionName: "tmc",
        ExternalId: tenant,
        DurationSeconds: String(sessionSeconds),
      },
    },
    { identity: await awsCredentials(), service: "sts", region },
  );
  const [accessKeyId, secretAccessKey, sessionToken] = ["AccessKeyId", "SecretAccessKey", "SessionToken"].map(
    (field) => new RegExp(`<${field}>\\s*([A-Za-z0-9+/=_-]+)\\s*</${field}>`).exec(text)?.[1],
  );
  if (accessKeyId === undefined || secretAccessKey === undefined || sessionToken === undefined) {
    throw new ControllerError("unreachable", `aws sts in ${region}: answer holds no session`);
  }
  return { accessKeyId, secretAccessKey, sessionToken };
}
