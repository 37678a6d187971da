import { Stack } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct, type IConstruct } from "constructs";
import { secretPrefix } from "../../lib/credentials/secret-name.ts";
import { type CredentialProvider, credentialProviderNames } from "../../lib/engine/environment.ts";
import { deletionGuardDefaults, deletionGuardVariables } from "../../lib/sync/eviction/deletion-guard-settings.ts";
import { acknowledge } from "../checks.ts";
import { decryptStatements, secretArn } from "./hub-access.ts";

export interface ClusterAccessProps {
  /** Name of the stage: the names of its secrets begin with it. */
  readonly stage: string;
  /**
   * Sources of credentials that registrations may use.
   * @default all
   */
  readonly providers?: readonly CredentialProvider[];
  /**
   * Address ranges (CIDR) in which clusters may be, besides public ones.
   * @default none
   */
  readonly allowedEndpoints?: readonly string[];
  /**
   * Interval between probes of a cluster.
   * @default 60
   */
  readonly heartbeatSeconds?: number;
  /**
   * Whether workloads are synced to the clusters.
   * @default true
   */
  readonly sync?: boolean;
  /**
   * Deletion guard: copies of a tenant, or on a cluster, that may be deleted at once without confirmation.
   * @default 100
   */
  readonly maxDeletions?: number;
  /**
   * Deletion guard: the same limit as a percentage.
   * @default 30
   */
  readonly maxDeletionsPercent?: number;
  /**
   * ARNs of customer managed KMS keys that encrypt secrets of clusters.
   * @default none
   */
  readonly kmsKeyArns?: readonly string[];
}

/** Access to clusters: sources of credentials, allowed endpoints, and settings of probes and sync. */
export class ClusterAccess extends Construct {
  /** Environment of a function that reconciles or probes clusters. */
  readonly environment: Readonly<Record<string, string>>;
  /** The part of it that is needed to connect to clusters. */
  readonly connectionEnvironment: Readonly<Record<string, string>>;
  /** For the planner, which does not connect to clusters. */
  readonly heartbeatSeconds: number;
  readonly #providers: readonly CredentialProvider[];
  readonly #kmsKeyArns: readonly string[];
  readonly #secrets: string;

  constructor(scope: Construct, id: string, props: ClusterAccessProps) {
    super(scope, id);
    this.#providers = props.providers ?? credentialProviderNames;
    this.#kmsKeyArns = props.kmsKeyArns ?? [];
    this.#secrets = `${secretPrefix(props.stage)}*`;
    this.heartbeatSeconds = props.heartbeatSeconds ?? 60;
    const ranges = props.allowedEndpoints ?? [];
    this.connectionEnvironment = {
      TMC_CREDENTIAL_PROVIDERS: this.#providers.join(","),
      ...(ranges.length > 0 ? { TMC_ALLOWED_ENDPOINTS: ranges.join(",") } : {}),
    };
    this.environment = {
      ...this.connectionEnvironment,
      TMC_HEARTBEAT_SECONDS: String(this.heartbeatSeconds),
      TMC_SYNC: String(props.sync ?? true),
      [deletionGuardVariables.maxDeletions]: String(props.maxDeletions ?? deletionGuardDefaults.maxDeletions),
      [deletionGuardVariables.maxDeletionsPercent]: String(
        props.maxDeletionsPercent ?? deletionGuardDefaults.maxDeletionsPercent,
      ),
    };
  }

  /**
   * Allows a role to read the credentials of the clusters of all tenants of this stage. TMC itself separates the tenants, by
   * derived secret names and by the tag of an EKS cluster.
   */
  grantCredentials(role: IRole): void {
    for (const statement of this.credentialStatements()) role.addToPrincipalPolicy(statement);
    this.acknowledgeCredentials(role);
  }

  credentialStatements(): readonly PolicyStatement[] {
    const { partition, account } = Stack.of(this);
    const allow = (action: string, resource: string): PolicyStatement =>
      new PolicyStatement({ actions: [action], resources: [resource] });
    return [
      ...(this.#providers.includes("secretsmanager")
        ? [
            allow("secretsmanager:GetSecretValue", secretArn(this, this.#secrets)),
            ...decryptStatements(this, this.#kmsKeyArns),
          ]
        : []),
      ...(this.#providers.includes("eks")
        ? [
            allow("eks:DescribeCluster", `arn:${partition}:eks:*:${account}:cluster/*`),
            allow("sts:AssumeRole", `arn:${partition}:iam::*:role/tmc/*`),
          ]
        : []),
    ];
  }

  /** Acknowledges the findings about these statements on a role or a policy. */
  acknowledgeCredentials(role: IConstruct): void {
    if (this.#providers.includes("secretsmanager")) {
      const secrets = `arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${this.#secrets}`;
      acknowledge(
        role,
        `AwsSolutions-IAM5[Resource::${secrets}]`,
        "one secret per registered cluster, created after the deployment",
      );
    }
    if (this.#providers.includes("eks")) {
      acknowledge(
        role,
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:eks:*:<AWS::AccountId>:cluster/*]",
        "clusters are registered after the deployment, in any region; a tag on each cluster names its tenant",
      );
      acknowledge(
        role,
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:iam::*:role/tmc/*]",
        "clusters of other accounts: only roles with the path /tmc/, and those accounts decide which principals they trust",
      );
    }
  }
}
