import { IpAddresses, type IVpc, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { Construct } from "constructs";
import { acknowledge } from "../checks.ts";

export interface RelayNetworkProps {
  /**
   * Address range.
   * @default "10.79.0.0/24"
   */
  readonly cidr?: string;
}

/** A VPC for tasks with outgoing connections only: two public subnets without a NAT gateway, which would cost more than the tasks. */
export class RelayNetwork extends Construct {
  readonly vpc: IVpc;

  constructor(scope: Construct, id: string, props: RelayNetworkProps = {}) {
    super(scope, id);
    const vpc = new Vpc(this, "Vpc", {
      ipAddresses: IpAddresses.cidr(props.cidr ?? "10.79.0.0/24"),
      maxAzs: 2,
      natGateways: 0,
      // The tasks request public addresses themselves; nothing else gets one by default.
      subnetConfiguration: [{ name: "Public", subnetType: SubnetType.PUBLIC, mapPublicIpOnLaunch: false }],
      // CDK would add a function with broad permissions to empty the default security group, which nothing uses.
      restrictDefaultSecurityGroup: false,
    });
    acknowledge(vpc, "AwsSolutions-VPC7", "nothing listens in it: its only security group has no ingress rules");
    // The class declares optional properties as "or undefined", the interface as absent; they are compatible.
    this.vpc = vpc as IVpc;
  }
}
