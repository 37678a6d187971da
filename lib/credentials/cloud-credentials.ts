import type { Clock } from "@tmc/kube/clock.ts";
import type { Hub } from "../model/hub.ts";
import { type CallAws, createCallAws } from "./aws-call.ts";
import type { AwsCredentials } from "./aws-sign.ts";
import { type CredentialSource, createCredentialSource } from "./credentials.ts";
import { createEksCredentials } from "./eks-credentials.ts";
import type { EndpointRules } from "./endpoint-rules.ts";
import { createSecretCredentials } from "./secret-credentials.ts";
import { createSecretsManagerCredentials, type SecretsManager } from "./secrets-manager.ts";

/** The ways to credentials that an operator can offer. */
export const credentialProviders = ["eks", "secretsmanager", "kcp-secret"] as const;
export type CredentialProvider = (typeof credentialProviders)[number];

export type CloudCredentialsOptions = Readonly<{
  hub: Pick<Hub, "readSecret">;
  rules: EndpointRules;
  /** @default all */
  providers?: readonly CredentialProvider[] | undefined;
  secretsManager: SecretsManager;
  awsCredentials: AwsCredentials;
  clock: Clock;
  /** @default Math.random */
  random?: (() => number) | undefined;
  /** How services without a client are asked. @default signed requests over `node:https` */
  callAws?: CallAws | undefined;
}>;

/**
 * Credentials for clusters in the deployed form: a registration names its way in; where it names none, the Secrets Manager
 * secret `tmc/<logical cluster>/<registration>` is looked for.
 */
export function createCloudCredentials(options: CloudCredentialsOptions): CredentialSource {
  const { hub, rules, providers = credentialProviders, secretsManager, awsCredentials, clock } = options;
  const random = options.random ?? Math.random;
  const offers = (provider: CredentialProvider): boolean => providers.includes(provider);
  const stored = offers("secretsmanager")
    ? createSecretsManagerCredentials({ secretsManager, rules, clock, random })
    : undefined;
  const callAws = options.callAws ?? createCallAws({ clock });
  return createCredentialSource({
    secretRef: offers("kcp-secret") ? createSecretCredentials({ hub, rules, clock, random }) : undefined,
    eks: offers("eks") ? createEksCredentials({ callAws, awsCredentials, rules, clock, random }) : undefined,
    secretsManager: stored,
    otherwise: stored,
  });
}
