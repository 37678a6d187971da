import type { Clock } from "@tmc/kube/clock.ts";
import type { Hub } from "../model/hub.ts";
import { type CallAws, createCallAws } from "./aws-call.ts";
import type { AwsCredentials } from "./aws-sign.ts";
import { type CredentialSource, createCredentialSource } from "./credentials.ts";
import { createEksCredentials } from "./eks-credentials.ts";
import type { EndpointRules } from "./endpoint-rules.ts";
import { createSecretCredentials } from "./secret-credentials.ts";
import type { SecretScope } from "./secret-name.ts";
import { createSecretsManagerCredentials, type SecretsManager } from "./secrets-manager.ts";

/** Credential providers that an operator can enable. */
export const credentialProviders = ["eks", "secretsmanager", "kcp-secret"] as const;
export type CredentialProvider = (typeof credentialProviders)[number];

export type CloudCredentialsOptions = Readonly<{
  hub: Pick<Hub, "readSecret">;
  rules: EndpointRules;
  /** @default all */
  providers?: readonly CredentialProvider[] | undefined;
  secretsManager: SecretsManager;
  /** What the names of secrets begin with, besides the tenant. */
  scope: SecretScope;
  awsCredentials: AwsCredentials;
  clock: Clock;
  /** @default Math.random */
  random?: (() => number) | undefined;
  /** Calls AWS services for which there is no SDK client. @default signed requests over `node:https` */
  callAws?: CallAws | undefined;
}>;

/**
 * Creates the credential source of the Lambda deployment. A registration without `spec.credentials` uses the Secrets Manager
 * secret `tmc/<stage>/<hub id>/<logical cluster>/<registration>`.
 */
export function createCloudCredentials(options: CloudCredentialsOptions): CredentialSource {
  const { hub, rules, providers = credentialProviders, secretsManager, scope, awsCredentials, clock } = options;
  const random = options.random ?? Math.random;
  const isEnabled = (provider: CredentialProvider): boolean => providers.includes(provider);
  const secretsManagerCredentials = isEnabled("secretsmanager")
    ? createSecretsManagerCredentials({ secretsManager, scope, rules, clock, random })
    : undefined;
  const callAws = options.callAws ?? createCallAws({ clock });
  return createCredentialSource({
    secretRef: isEnabled("kcp-secret") ? createSecretCredentials({ hub, rules, clock, random }) : undefined,
    eks: isEnabled("eks") ? createEksCredentials({ callAws, awsCredentials, rules, clock, random }) : undefined,
    secretsManager: secretsManagerCredentials,
    default: secretsManagerCredentials,
  });
}
