import { ArnFormat, Stack } from "aws-cdk-lib";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
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
}

/** Access to the upstream: the secret with its kubeconfig, and the workspaces or the APIExport to reconcile. */
export class HubAccess extends Construct {
  /** Environment of a function or the relay. */
  readonly environment: Readonly<Record<string, string>>;
  /** ARN of the secret, for policies. */
  readonly secretArn: string;

  constructor(scope: Construct, id: string, props: HubAccessProps) {
    super(scope, id);
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

  grantReadKubeconfig(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ["secretsmanager:GetSecretValue"],
      resourceArns: [this.secretArn],
    });
  }
}

/** ARN of secrets in this account and region, by name or pattern. */
export const secretArn = (scope: Construct, resourceName: string): string =>
  Stack.of(scope).formatArn({
    service: "secretsmanager",
    resource: "secret",
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
