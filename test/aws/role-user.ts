import { randomUUID } from "node:crypto";
import {
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeleteAccessKeyCommand,
  DeleteUserCommand,
  DeleteUserPolicyCommand,
  GetRolePolicyCommand,
  ListRolePoliciesCommand,
  PutUserPolicyCommand,
} from "@aws-sdk/client-iam";
import type { AwsClients } from "./aws-clients.ts";
import type { AwsEndpoint } from "./endpoint.ts";

/** Somebody who may do what a role may, for roles that nobody here can assume. */
export interface RoleUser {
  readonly credentials: AwsEndpoint["credentials"];
  /** Takes back what was made for him. */
  remove(): Promise<void>;
}

/** Makes a user with the live rights of a role. */
export async function createUserLike({ iam }: Pick<AwsClients, "iam">, RoleName: string): Promise<RoleUser> {
  const UserName = `like-${randomUUID()}`;
  await iam.send(new CreateUserCommand({ UserName }));
  const { PolicyNames = [] } = await iam.send(new ListRolePoliciesCommand({ RoleName }));
  for (const PolicyName of PolicyNames) {
    const { PolicyDocument = "" } = await iam.send(new GetRolePolicyCommand({ RoleName, PolicyName }));
    const policy = { UserName, PolicyName, PolicyDocument: decodeURIComponent(PolicyDocument) };
    await iam.send(new PutUserPolicyCommand(policy));
  }
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
  const { AccessKeyId = "", SecretAccessKey = "" } = AccessKey ?? {};
  return {
    credentials: { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey },
    remove: async () => {
      await iam.send(new DeleteAccessKeyCommand({ UserName, AccessKeyId }));
      for (const PolicyName of PolicyNames) await iam.send(new DeleteUserPolicyCommand({ UserName, PolicyName }));
      await iam.send(new DeleteUserCommand({ UserName }));
    },
  };
}
