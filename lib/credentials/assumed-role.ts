import { ControllerError } from "@tmc/kube/fault.ts";
import type { CallAws } from "./aws-call.ts";
import { type AwsCredentials, type AwsIdentity, awsDomain, awsPartition } from "./aws-sign.ts";

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
