import { CfnOutput, Stack } from "aws-cdk-lib";
import { SubnetType } from "aws-cdk-lib/aws-ec2";
import { ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { ClusterAccess } from "../constructs/cluster-access.ts";
import { HubAccess } from "../constructs/hub-access.ts";
import { builtRelayImage, relayImageOf } from "../constructs/relay-image.ts";
import { RelayNetwork } from "../constructs/relay-network.ts";
import { WatchRelay } from "../constructs/watch-relay.ts";
import type { StageNames } from "../names.ts";
import type { Settings } from "../settings.ts";
import { givenNetwork } from "./given-network.ts";

export interface RelayStackProps {
  readonly settings: Settings;
  readonly names: StageNames;
  /** Folder with the relay's Dockerfile. */
  readonly imageFolder: string;
  readonly workQueue: IQueue;
}

/** What the relay reaches: kcp, and the clusters where it watches them. */
type Ways = Readonly<{ hub: HubAccess; clusters: ClusterAccess | undefined }>;

/** What watches kcp: tasks on Fargate, or the rights for a relay that runs elsewhere. */
export class RelayStack extends Stack {
  constructor(scope: Construct, id: string, props: RelayStackProps) {
    super(scope, id, { description: `TMC ${props.settings.stage}: the relay that watches kcp` });
    const { settings, names, workQueue } = props;
    const hub = new HubAccess(this, "Hub", {
      hub: settings.hub,
      secret: settings["relay.kcpSecret"],
      workspaces: settings.workspaces,
      apiExport: settings.apiExport,
    });
    const clusters = settings["relay.watchClusters"]
      ? new ClusterAccess(this, "Clusters", {
          providers: settings.credentialProviders,
          allowedEndpoints: settings.allowedEndpoints,
        })
      : undefined;
    if (settings["relay.mode"] === "external") this.#addRights(names, workQueue, { hub, clusters });
    else this.#addRelay(props, { hub, clusters });
  }

  #addRelay({ settings, names, imageFolder, workQueue }: RelayStackProps, { hub, clusters }: Ways): void {
    const image = settings["relay.image"];
    new WatchRelay(this, "Relay", {
      stage: settings.stage,
      name: names.relay,
      workQueue,
      hub,
      image: image === undefined ? builtRelayImage(imageFolder) : relayImageOf(this, image),
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
    const given = givenNetwork(this, settings);
    if (given !== undefined) return { ...given, publicAddresses: settings["vpc.public"] };
    const { vpc } = new RelayNetwork(this, "Network", { cidr: settings["vpc.cidr"] });
    return { vpc, subnets: { subnetType: SubnetType.PUBLIC }, publicAddresses: true };
  }

  /** The same rights as the tasks would have, to be put on the role of a pod. */
  #addRights(names: StageNames, workQueue: IQueue, { hub, clusters }: Ways): void {
    const policy = new ManagedPolicy(this, "Rights", {
      managedPolicyName: `${names.relay}-${Stack.of(this).region}`,
      description: "What the relay may do: read its kubeconfig, send keys",
      statements: [
        new PolicyStatement({
          actions: ["sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"],
          resources: [workQueue.queueArn],
        }),
        new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources: [hub.secretArn] }),
        ...(clusters?.credentialStatements() ?? []),
      ],
    });
    clusters?.acknowledgeCredentials(policy);
    new CfnOutput(this, "RelayPolicyArn", { value: policy.managedPolicyArn });
    new CfnOutput(this, "WorkQueueUrl", { value: workQueue.queueUrl });
  }
}
