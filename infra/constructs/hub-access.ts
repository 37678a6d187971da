import { ArnFormat, Stack } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";

export interface HubAccessProps {
  /** Name or full ARN of an existing secret with the kubeconfig for the upstream. */
  readonly secret: string;
  /**
   * `kcp`, or `kubernetes` for a plain cluster with the CRDs of TMC.
   * @default "kcp"
   */
  readonly hub?: "kcp" | "kubernetes";
  /**
   * Id of the upstream.
   * @default the one that the upstream stores
   */
  readonly hubId?: string | undefined;
  /**
   * Paths of the workspaces to reconcile; a plain cluster has none.
   * @default none
   */
  readonly workspaces?: readonly string[];
  /**
   * Instead of workspaces: the APIExport whose tenants are all reconciled, such as `root:tmc:tmc.kcp.io`.
   * @default none
   */
  readonly apiExport?: string | undefined;
  /**
   * ARNs of customer managed KMS keys that encrypt the secret.
   * @default none, the secret is encrypted with the AWS managed key
   */
  readonly kmsKeyArns?: readonly string[];
}

/** Access to the upstream: the secret with its kubeconfig, and the workspaces or the APIExport to reconcile. */
export class HubAccess extends Construct {
  /** Environment of a function or the relay. */
  readonly environment: Readonly<Record<string, string>>;
  /** ARN of the secret, for policies. */
  readonly secretArn: string;
  readonly #kmsKeyArns: readonly string[];

  constructor(scope: Construct, id: string, props: HubAccessProps) {
    super(scope, id);
    this.#kmsKeyArns = props.kmsKeyArns ?? [];
    const workspaces = props.workspaces ?? [];
    this.environment = {
      TMC_HUB: props.hub ?? "kcp",
      ...(props.hubId === undefined ? {} : { TMC_HUB_ID: props.hubId }),
      TMC_KCP_SECRET: props.secret,
      ...(workspaces.length > 0 ? { TMC_WORKSPACES: workspaces.join(",") } : {}),
      ...(props.apiExport === undefined ? {} : { TMC_API_EXPORT: props.apiExport }),
    };
    // The ARN of a secret ends in six random characters, which are not part of its name.
    this.secretArn = props.secret.startsWith("arn:") ? props.secret : secretArn(this, `${props.secret}-??????`);
  }

  grantReadKubeconfig(grantee: IGrantable): void {
    for (const statement of this.kubeconfigStatements()) grantee.grantPrincipal.addToPrincipalPolicy(statement);
  }

  kubeconfigStatements(): readonly PolicyStatement[] {
    return [
      new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources: [this.secretArn] }),
      ...decryptStatements(this, this.#kmsKeyArns),
    ];
  }
}

/** Permission to decrypt secrets, and nothing else, with customer managed keys. */
export function decryptStatements(scope: Construct, keyArns: readonly string[]): readonly PolicyStatement[] {
  if (keyArns.length === 0) return [];
  const { region, urlSuffix } = Stack.of(scope);
  return [
    new PolicyStatement({
      actions: ["kms:Decrypt"],
      resources: [...keyArns],
      conditions: { StringEquals: { "kms:ViaService": `secretsmanager.${region}.${urlSuffix}` } },
    }),
  ];
}

/** ARN of secrets in this account and region, by name or pattern. */
export const secretArn = (scope: Construct, resourceName: string): string =>
  Stack.of(scope).formatArn({
    service: "secretsmanager",
    resource: "secret",
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
