import { type IVpc, Subnet, type SubnetSelection, Vpc } from "aws-cdk-lib/aws-ec2";
import type { Construct } from "constructs";
import { acknowledge } from "../checks.ts";
import type { Settings } from "../settings.ts";

/** The VPC and subnets of the settings, if any. The settings have all attributes, because a lookup would need an account. */
export function existingNetwork(
  scope: Construct,
  settings: Settings,
): Readonly<{ vpc: IVpc; subnets: SubnetSelection }> | undefined {
  const vpcId = settings["vpc.id"];
  if (vpcId === undefined) return undefined;
  const zones = settings["vpc.availabilityZones"];
  const vpc = Vpc.fromVpcAttributes(scope, "GivenVpc", { vpcId, availabilityZones: [...zones] });
  const subnets = settings["vpc.subnets"].map((subnetId, at) => {
    const id = `GivenSubnet${at + 1}`;
    const subnet = Subnet.fromSubnetAttributes(scope, id, { subnetId, availabilityZone: zones[at] ?? "" });
    acknowledge(subnet, "@aws-cdk/aws-ec2:noSubnetRouteTableId", "no construct changes its routes");
    return subnet;
  });
  return { vpc, subnets: { subnets } };
}
