import { IpAddresses, type IVpc, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { Construct } from "constructs";
import { acknowledge } from "../checks.ts";

export interface RelayNetworkProps {
  /**
   * Its addresses.
   * @default "10.79.0.0/24"
   */
  readonly cidr?: string;
}

/** A network for tasks that only call out: two public subnets, and no NAT gateway, which would cost more than the tasks. */
export class RelayNetwork extends Construct {
  readonly vpc: IVpc;

  constructor(scope: Construct, id: string, props: RelayNetworkProps = {}) {
    super(scope, id);
    const vpc = new Vpc(this, "Vpc", {
      ipAddresses: IpAddresses.cidr(props.cidr ?? "10.79.0.0/24"),
      maxAzs: 2,
      natGateways: 0,
      // A task asks for its address itself; nothing else that lands here gets one unasked.
      subnetConfiguration: [{ name: "Public", subnetType: SubnetType.PUBLIC, mapPublicIpOnLaunch: false }],
      // Emptying the default group takes a function of its own with wide rights, for a group that nothing here uses.
      restrictDefaultSecurityGroup: false,
    });
    acknowledge(vpc, "AwsSolutions-VPC7", "nothing listens in it: its only security group lets nobody in");
    // The class says "or undefined" where its interface says "or absent"; it is one and the same thing.
    this.vpc = vpc as IVpc;
  }
}
