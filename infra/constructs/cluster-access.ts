import { Stack } from "aws-cdk-lib";
import { PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { type CredentialProvider, credentialProviders } from "../../lib/lambda/environment.ts";
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
}

/** The way to tenants' clusters: how credentials are found, where servers may be, how often they are probed. */
export class ClusterAccess extends Construct {
  /** What a function that talks to clusters is told. */
  readonly environment: Readonly<Record<string, string>>;
  /** The interval alone, for those who plan probes and do not make them. */
  readonly heartbeatSeconds: number;
  readonly #providers: readonly CredentialProvider[];

  constructor(scope: Construct, id: string, props: ClusterAccessProps = {}) {
    super(scope, id);
    this.#providers = props.providers ?? credentialProviders;
    this.heartbeatSeconds = props.heartbeatSeconds ?? 60;
    const ranges = props.allowedEndpoints ?? [];
    this.environment = {
      TMC_HEARTBEAT_SECONDS: String(this.heartbeatSeconds),
      TMC_CREDENTIAL_PROVIDERS: this.#providers.join(","),
      ...(ranges.length > 0 ? { TMC_ALLOWED_ENDPOINTS: ranges.join(",") } : {}),
    };
  }

  /**
   * Lets a function find credentials for any tenant's cluster; which tenant it is the function itself tells apart, by
   * names that it derives and by the tag of an EKS cluster.
   */
  grantCredentials(role: Role): void {
    const { partition, account } = Stack.of(this);
    if (this.#providers.includes("secretsmanager")) {
      role.addToPolicy(
        new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources: [secretArn(this, "tmc/*")] }),
      );
      const shown = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:tmc/*";
      acknowledge(
        role,
        `AwsSolutions-IAM5[Resource::${shown}]`,
        "one secret per registered cluster, made after the deploy",
      );
    }
    if (this.#providers.includes("eks")) {
      const clusters = `arn:${partition}:eks:*:${account}:cluster/*`;
      const roles = `arn:${partition}:iam::*:role/tmc/*`;
      role.addToPolicy(new PolicyStatement({ actions: ["eks:DescribeCluster"], resources: [clusters] }));
      role.addToPolicy(new PolicyStatement({ actions: ["sts:AssumeRole"], resources: [roles] }));
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
