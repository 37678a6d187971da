import { Stack } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct, type IConstruct } from "constructs";
import { type CredentialProvider, credentialProviders } from "../../lib/engine/environment.ts";
import { deletionGuardDefaults, deletionGuardVariables } from "../../lib/sync/eviction/deletion-guard-settings.ts";
import { acknowledge } from "../checks.ts";
import { secretArn } from "./hub-access.ts";

export interface ClusterAccessProps {
  /**
   * Which ways registrations may choose.
   * @default all of them
   */
  readonly providers?: readonly CredentialProvider[];
  /**
   * Ranges of addresses (CIDR) that tenants' servers may be in besides public ones.
   * @default none
   */
  readonly allowedEndpoints?: readonly string[];
  /**
   * How often each cluster is probed.
   * @default 60
   */
  readonly heartbeatSeconds?: number;
  /**
   * Whether workloads are put on them.
   * @default true
   */
  readonly sync?: boolean;
  /**
   * How many copies of workloads may leave a tenant's clusters at once without anybody being asked.
   * @default 100
   */
  readonly maxDeletions?: number;
  /**
   * The same as a share, in percent.
   * @default 30
   */
  readonly maxDeletionsPercent?: number;
}

/** The way to tenants' clusters: how credentials are found, where servers may be, how often they are probed. */
export class ClusterAccess extends Construct {
  /** What a function that talks to clusters is told. */
  readonly environment: Readonly<Record<string, string>>;
  /** The part of it that is about the way to them. */
  readonly way: Readonly<Record<string, string>>;
  /** The interval alone, for those who plan probes and do not make them. */
  readonly heartbeatSeconds: number;
  readonly #providers: readonly CredentialProvider[];

  constructor(scope: Construct, id: string, props: ClusterAccessProps = {}) {
    super(scope, id);
    this.#providers = props.providers ?? credentialProviders;
    this.heartbeatSeconds = props.heartbeatSeconds ?? 60;
    const ranges = props.allowedEndpoints ?? [];
    this.way = {
      TMC_CREDENTIAL_PROVIDERS: this.#providers.join(","),
      ...(ranges.length > 0 ? { TMC_ALLOWED_ENDPOINTS: ranges.join(",") } : {}),
    };
    this.environment = {
      ...this.way,
      TMC_HEARTBEAT_SECONDS: String(this.heartbeatSeconds),
      TMC_SYNC: String(props.sync ?? true),
      [deletionGuardVariables.maxDeletions]: String(props.maxDeletions ?? deletionGuardDefaults.maxDeletions),
      [deletionGuardVariables.maxDeletionsPercent]: String(
        props.maxDeletionsPercent ?? deletionGuardDefaults.maxDeletionsPercent,
      ),
    };
  }

  /**
   * Lets somebody find credentials for any tenant's cluster; which tenant it is the code itself tells apart, by
   * names that it derives and by the tag of an EKS cluster.
   */
  grantCredentials(role: IRole): void {
    for (const statement of this.credentialStatements()) role.addToPrincipalPolicy(statement);
    this.acknowledgeCredentials(role);
  }

  /** What it takes to find them. */
  credentialStatements(): readonly PolicyStatement[] {
    const { partition, account } = Stack.of(this);
    const allow = (action: string, resource: string): PolicyStatement =>
      new PolicyStatement({ actions: [action], resources: [resource] });
    return [
      ...(this.#providers.includes("secretsmanager")
        ? [allow("secretsmanager:GetSecretValue", secretArn(this, "tmc/*"))]
        : []),
      ...(this.#providers.includes("eks")
        ? [
            allow("eks:DescribeCluster", `arn:${partition}:eks:*:${account}:cluster/*`),
            allow("sts:AssumeRole", `arn:${partition}:iam::*:role/tmc/*`),
          ]
        : []),
    ];
  }

  /** Answers what the rules say about those on a role or a policy. */
  acknowledgeCredentials(role: IConstruct): void {
    if (this.#providers.includes("secretsmanager")) {
      const shown = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:tmc/*";
      acknowledge(
        role,
        `AwsSolutions-IAM5[Resource::${shown}]`,
        "one secret per registered cluster, made after the deploy",
      );
    }
    if (this.#providers.includes("eks")) {
      acknowledge(
        role,
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:eks:*:<AWS::AccountId>:cluster/*]",
        "clusters are registered after the deploy, in any region; the tag on each says whose it is",
      );
      acknowledge(
        role,
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:iam::*:role/tmc/*]",
        "clusters of other accounts: only roles under the path /tmc/, and those accounts decide whom they trust",
      );
    }
  }
}
