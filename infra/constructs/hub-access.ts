import { ArnFormat, Stack } from "aws-cdk-lib";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";

export interface HubAccessProps {
  /** Name or whole ARN of the secret that holds the kubeconfig for the hub; it exists already. */
  readonly secret: string;
  /**
   * `kcp`, or `kubernetes` for a plain cluster with our CRDs.
   * @default "kcp"
   */
  readonly hub?: "kcp" | "kubernetes";
  /**
   * Paths of the workspaces that are looked after; a plain cluster has none.
   * @default none
   */
  readonly workspaces?: readonly string[];
  /**
   * In place of workspaces: the export whose tenants are all looked after, as `root:tmc:tmc.kcp.io`.
   * @default none
   */
  readonly apiExport?: string | undefined;
}

/** The way to kcp: which secret opens it, and which workspaces are looked after, or the tenants of which export. */
export class HubAccess extends Construct {
  /** What a function or the relay is told about the hub. */
  readonly environment: Readonly<Record<string, string>>;
  /** ARN of the kubeconfig's secret, as policies need it. */
  readonly secretArn: string;

  constructor(scope: Construct, id: string, props: HubAccessProps) {
    super(scope, id);
    const workspaces = props.workspaces ?? [];
    this.environment = {
      TMC_HUB: props.hub ?? "kcp",
      TMC_KCP_SECRET: props.secret,
      ...(workspaces.length > 0 ? { TMC_WORKSPACES: workspaces.join(",") } : {}),
      ...(props.apiExport === undefined ? {} : { TMC_API_EXPORT: props.apiExport }),
    };
    // A secret's ARN ends in six random characters that its name does not have.
    this.secretArn = props.secret.startsWith("arn:") ? props.secret : secretArn(this, `${props.secret}-??????`);
  }

  /** Lets somebody read the kubeconfig, and nothing else. */
  grantOpen(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ["secretsmanager:GetSecretValue"],
      resourceArns: [this.secretArn],
    });
  }
}

/** ARN of secrets of this account and region, by name or pattern. */
export const secretArn = (scope: Construct, resourceName: string): string =>
  Stack.of(scope).formatArn({
    service: "secretsmanager",
    resource: "secret",
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
