import { CfnOutput, Stack } from "aws-cdk-lib";
import { SubnetType } from "aws-cdk-lib/aws-ec2";
import { ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { relayMetrics } from "../../lib/relay/observe/cloudwatch-metrics.ts";
import { acknowledge } from "../checks.ts";
import { ClusterAccess } from "../constructs/cluster-access.ts";
import { HubAccess } from "../constructs/hub-access.ts";
import { builtRelayImage, registryRelayImage } from "../constructs/relay-image.ts";
import { RelayNetwork } from "../constructs/relay-network.ts";
import { WatchRelay } from "../constructs/watch-relay.ts";
import type { StageNames } from "../names.ts";
import type { Settings } from "../settings.ts";
import { existingNetwork } from "./existing-network.ts";

export interface RelayStackProps {
  readonly settings: Settings;
  readonly names: StageNames;
  /** Folder with the relay's Dockerfile. */
  readonly imageFolder: string;
  readonly workQueue: IQueue;
}

/** Access of the relay to the upstream, and to the clusters if it watches them. */
type RelayAccess = Readonly<{ hub: HubAccess; clusters: ClusterAccess | undefined }>;

/** The relay on Fargate, or the IAM policy for a relay that runs elsewhere. */
export class RelayStack extends Stack {
  constructor(scope: Construct, id: string, props: RelayStackProps) {
    super(scope, id, { description: `TMC ${props.settings.stage}: relay` });
    const { settings, names, workQueue } = props;
    const hub = new HubAccess(this, "Hub", {
      hub: settings.hub,
      hubId: settings.hubId,
      secret: settings["relay.kcpSecret"],
      kmsKeyArns: settings.kmsKeyArns,
      workspaces: settings.workspaces,
      apiExport: settings.apiExport,
    });
    const clusters = settings["relay.watchClusters"]
      ? new ClusterAccess(this, "Clusters", {
          stage: settings.stage,
          providers: settings.credentialProviders,
          allowedEndpoints: settings.allowedEndpoints,
          kmsKeyArns: settings.kmsKeyArns,
        })
      : undefined;
    if (settings["relay.mode"] === "external") this.#addPolicy(names, workQueue, { hub, clusters });
    else this.#addFargateRelay(props, { hub, clusters });
  }

  #addFargateRelay({ settings, names, imageFolder, workQueue }: RelayStackProps, { hub, clusters }: RelayAccess): void {
    const image = settings["relay.image"];
    new WatchRelay(this, "Relay", {
      stage: settings.stage,
      name: names.relay,
      workQueue,
      hub,
      image: image === undefined ? builtRelayImage(imageFolder) : registryRelayImage(this, image),
      ...this.#network(settings),
      tasks: settings["relay.tasks"],
      sync: settings.sync,
      clusters,
      tenantEventsPerSecond: settings.tenantEventsPerSecond,
      logLevel: settings.logLevel,
      logRetention: settings.logRetentionDays,
    });
  }

  #network(settings: Settings) {
    const network = existingNetwork(this, settings);
    if (network !== undefined) return { ...network, publicAddresses: settings["vpc.public"] };
    const { vpc } = new RelayNetwork(this, "Network", { cidr: settings["vpc.cidr"] });
    return { vpc, subnets: { subnetType: SubnetType.PUBLIC }, publicAddresses: true };
  }

  /** The same permissions as the tasks would have, for the role of a pod. */
  #addPolicy(names: StageNames, workQueue: IQueue, { hub, clusters }: RelayAccess): void {
    const policy = new ManagedPolicy(this, "Rights", {
      managedPolicyName: `${names.relay}-${Stack.of(this).region}`,
      description: "Permissions of the relay: read its kubeconfig, send keys, report metrics",
      statements: [
        new PolicyStatement({
          actions: ["sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"],
          resources: [workQueue.queueArn],
        }),
        ...hub.kubeconfigStatements(),
        // PutMetricData has no resources; the condition limits it to the metrics of TMC.
        new PolicyStatement({
          actions: ["cloudwatch:PutMetricData"],
          resources: ["*"],
          conditions: { StringEquals: { "cloudwatch:namespace": relayMetrics.namespace } },
        }),
        ...(clusters?.credentialStatements() ?? []),
      ],
    });
    acknowledge(
      policy,
      "AwsSolutions-IAM5[Resource::*]",
      "cloudwatch:PutMetricData does not support resources; a condition limits it to one namespace",
    );
    clusters?.acknowledgeCredentials(policy);
    new CfnOutput(this, "RelayPolicyArn", { value: policy.managedPolicyArn });
    new CfnOutput(this, "WorkQueueUrl", { value: workQueue.queueUrl });
  }
}
