import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import { trimTrailingSlashes } from "@tmc/kube/kubeconfig/server-address.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { formatKey } from "../model/key.ts";
import type { CallAws } from "./aws-call.ts";
import { type AwsCredentials, type AwsIdentity, awsDomain, awsPartition, presignUrl } from "./aws-sign.ts";
import {
  type CredentialSource,
  type CredentialsNotConfigured,
  type CredentialsRequest,
  notConfigured,
  outcomeOf,
  tenantName,
} from "./credentials.ts";
import { type EndpointRules, serverRejection } from "./endpoint-rules.ts";
import { type CacheRead, createExpiringCache } from "./expiring-cache.ts";

export type EksCredentialsOptions = Readonly<{
  callAws: CallAws;
  awsCredentials: AwsCredentials;
  /** Applied to clusters in AWS accounts that tenants name. */
  rules: EndpointRules;
  clock: Clock;
  random: () => number;
}>;

/** Tag with which the owner of an EKS cluster names the logical cluster that may register it. */
export const logicalClusterTag = "tmc.kcp.io/logical-cluster";

/** A token is valid for 15 minutes. A TTL of 10 minutes keeps it from expiring during a request. */
const tokenTtlMs = 10 * 60_000;
const notConfiguredTtlMs = 60_000;

type EksClusterReference = Readonly<{ clusterName: string; region: string; account?: string | undefined }>;
type CachedResult = Readonly<{
  generation: number;
  result: Endpoint | CredentialsNotConfigured;
  providedBy: "operator" | "tenant";
}>;

/**
 * Creates the credential source for EKS clusters. It needs no stored secret: AWS returns endpoint and CA certificate, and
 * TMC signs the token with its own identity.
 *
 * A tenant may use a cluster only if the cluster has a tag with the tenant's logical cluster. A cluster without the tag gives
 * the same error as a missing one, so that tenants cannot discover which clusters exist.
 */
export function createEksCredentials(options: EksCredentialsOptions): CredentialSource {
  const { callAws, awsCredentials, rules, clock, random } = options;
  const cache = createExpiringCache<CachedResult>({ clock, random });

  const find = async (named: EksClusterReference, tenant: string): Promise<Endpoint | CredentialsNotConfigured> => {
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
      return notConfigured(`AWS does not allow TMC to assume the role ${role} with the external ID ${tenant}`);
    }
    const described = await describeCluster(named, identity, callAws);
    if (described === "refused") return notConfigured(`AWS denies TMC access to EKS clusters in ${region}`);
    if (described?.tags[logicalClusterTag] !== tenant) {
      const what = `EKS cluster "${clusterName}" in ${region}`;
      return notConfigured(
        `${what} does not exist or does not have the tag ${logicalClusterTag}=${tenant}`,
        "CredentialsInvalid",
      );
    }
    const { server, ca } = described;
    if (server === undefined || ca === undefined)
      return notConfigured(`EKS cluster "${clusterName}" has no endpoint yet`);
    const refusal = account === undefined ? undefined : serverRejection(server, rules);
    if (refusal !== undefined) return notConfigured(refusal, "EndpointNotAllowed");
    const token = await createEksToken(named, { identity, atMs: clock.now() });
    return { server, ca, token: async () => token };
  };

  const read = async (
    { key, registration }: CredentialsRequest,
    named: EksClusterReference,
  ): Promise<CacheRead<CachedResult>> => {
    const result = await find(named, tenantName(key.logicalCluster));
    const providedBy = named.account === undefined ? "operator" : "tenant";
    const generation = registration.metadata.generation ?? 0;
    return { value: { generation, result, providedBy }, ttlMs: "kind" in result ? notConfiguredTtlMs : tokenTtlMs };
  };

  return {
    find: async (request, signal) => {
      const named = request.registration.spec.credentials?.eks;
      if (named === undefined) return notConfigured("the registration has no spec.credentials.eks");
      const id = formatKey(request.key);
      const readCached = (): Promise<CachedResult> => cache.get(id, () => read(request, named), signal);
      let cached = await readCached();
      if (cached.generation !== (request.registration.metadata.generation ?? 0)) {
        cache.invalidate(id); // a new spec may name another EKS cluster
        cached = await readCached();
      }
      return "kind" in cached.result
        ? cached.result
        : outcomeOf(cached.result, { providedBy: cached.providedBy, nowMs: clock.now() });
    },
    invalidate: (key) => cache.invalidate(formatKey(key)),
  };
}

type DescribedCluster = Readonly<{
  server: string | undefined;
  ca: string | undefined;
  tags: Readonly<Record<string, unknown>>;
}>;

/** Calls EKS DescribeCluster; undefined if the cluster does not exist. */
async function describeCluster(
  { clusterName, region }: EksClusterReference,
  identity: AwsIdentity,
  callAws: CallAws,
): Promise<DescribedCluster | "refused" | undefined> {
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
  const cluster = parseDescribedCluster(text, region);
  const { endpoint, certificateAuthority, tags } = cluster;
  const data = isRecord(certificateAuthority) ? certificateAuthority.data : undefined;
  return {
    server: typeof endpoint === "string" && endpoint !== "" ? trimTrailingSlashes(endpoint) : undefined,
    ca: typeof data === "string" && data !== "" ? Buffer.from(data, "base64").toString("utf8") : undefined,
    tags: isRecord(tags) ? tags : {},
  };
}

function parseDescribedCluster(text: string, region: string): Readonly<Record<string, unknown>> {
  try {
    const response: unknown = JSON.parse(text);
    if (isRecord(response) && isRecord(response.cluster)) return response.cluster;
  } catch {
    // Reported below: the parser's message would repeat the response.
  }
  throw new ControllerError("unreachable", `aws eks in ${region}: the response contains no cluster`);
}

/**
 * Creates a token for an EKS cluster: a presigned STS GetCallerIdentity request with the cluster's name, which the cluster
 * sends to STS to authenticate TMC. The token is valid for every cluster of that name, so it may be sent only to the endpoint
 * that AWS returned.
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
    // The cluster rejects a token in which this header was moved to the query.
    { expiresInSeconds: 60, signedHeaders: ["x-k8s-aws-id"] },
  );
  return `k8s-aws-v1.${Buffer.from(url).toString("base64url")}`;
}

/** The minimum that STS allows. The token TTL is shorter. */
const sessionSeconds = 900;

export type AssumeRoleOptions = Readonly<{
  callAws: CallAws;
  awsCredentials: AwsCredentials;
}>;

/** A role in a tenant's AWS account. Its name and external ID are derived from the logical cluster. */
export type TenantRole = Readonly<{ account: string; region: string; tenant: string }>;

/** Returns the ARN of a tenant's role. */
export function roleArnOf({ account, region, tenant }: TenantRole): string {
  return `arn:${awsPartition(region)}:iam::${account}:role/tmc/${tenant}`;
}

/**
 * Assumes a tenant's role. The external ID is the tenant's logical cluster, so that a role that trusts TMC for one tenant
 * cannot be used for another (the confused deputy problem).
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
    throw new ControllerError("unreachable", `aws sts in ${region}: the response contains no credentials`);
  }
  return { accessKeyId, secretAccessKey, sessionToken };
}
