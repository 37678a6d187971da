import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { type IVpc, SecurityGroup, type SubnetSelection } from "aws-cdk-lib/aws-ec2";
import {
  AwsLogDriverMode,
  Capability,
  Cluster,
  type ContainerImage,
  ContainerInsights,
  CpuArchitecture,
  FargateService,
  FargateTaskDefinition,
  type ICluster,
  LinuxParameters,
  LogDrivers,
  OperatingSystemFamily,
} from "aws-cdk-lib/aws-ecs";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { defaultTenantEventsPerSecond } from "../../lib/queue/tenant-rate-limit.ts";
import { acknowledge } from "../checks.ts";
import { logGroupName } from "../names.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import type { HubAccess } from "./hub-access.ts";

export interface WatchRelayProps {
  /** Name of the stage, for logs. */
  readonly stage: string;
  /** Name of the ECS cluster and of the service in it. */
  readonly name: string;
  /** Where keys are sent. */
  readonly workQueue: IQueue;
  /** The way to kcp. */
  readonly hub: HubAccess;
  readonly image: ContainerImage;
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  /** Whether tasks get public addresses, for subnets whose only way out is an internet gateway. */
  readonly publicAddresses: boolean;
  /**
   * How many run at once; they need no leader, since the queue takes each change once.
   * @default 2
   */
  readonly tasks?: number;
  /**
   * Whether it watches workloads as well.
   * @default true
   */
  readonly sync?: boolean;
  /**
   * The way to tenants' clusters, for a relay that watches them too.
   * @default none, it watches only the hub
   */
  readonly clusters?: ClusterAccess | undefined;
  /**
   * How many keys of one tenant it sends in a second, where there can be several tenants; 0 for any number.
   * @default 100
   */
  readonly tenantEventsPerSecond?: number;
  /** @default 2 */
  readonly logLevel?: number;
  /** @default 30 days */
  readonly logRetention?: RetentionDays;
}

/** Asks the relay itself; the health check of an image counts for nothing in ECS. */
const askLivez =
  "fetch('http://127.0.0.1:8081/livez').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))";

/** Watches kcp and sends the keys of what changed: two small tasks on Fargate, both at work. */
export class WatchRelay extends Construct {
  readonly service: FargateService;

  constructor(scope: Construct, id: string, props: WatchRelayProps) {
    super(scope, id);
    const logGroup = new LogGroup(this, "Log", {
      logGroupName: logGroupName(props.stage, "relay"),
      retention: props.logRetention ?? 30,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const cluster = new Cluster(this, "Cluster", {
      clusterName: props.name,
      vpc: props.vpc,
      containerInsightsV2: ContainerInsights.DISABLED,
    });
    acknowledge(
      cluster,
      "AwsSolutions-ECS4",
      "the relay's own metrics and the count of its tasks say more, and cost nothing",
    );

    const task = new FargateTaskDefinition(this, "Task", {
      family: props.name,
      cpu: 256,
      memoryLimitMiB: 512,
      runtimePlatform: { cpuArchitecture: CpuArchitecture.ARM64, operatingSystemFamily: OperatingSystemFamily.LINUX },
    });
    const linuxParameters = new LinuxParameters(this, "Linux");
    linuxParameters.dropCapabilities(Capability.ALL);
    task.addContainer("relay", {
      image: props.image,
      environment: {
        TMC_STAGE: props.stage,
        TMC_LOG_LEVEL: String(props.logLevel ?? 2),
        ...props.hub.environment,
        TMC_WORK_QUEUE_URL: props.workQueue.queueUrl,
        TMC_SYNC: String(props.sync ?? true),
        ...(props.clusters === undefined ? {} : { TMC_WATCH_CLUSTERS: "true", ...props.clusters.way }),
        TMC_TENANT_EVENTS_PER_SECOND: String(props.tenantEventsPerSecond ?? defaultTenantEventsPerSecond),
      },
      // Without a line it never waits: a relay that cannot log must still relay.
      logging: LogDrivers.awsLogs({ logGroup, streamPrefix: "relay", mode: AwsLogDriverMode.NON_BLOCKING }),
      user: "1000:1000",
      readonlyRootFilesystem: true,
      linuxParameters,
      // It flushes for up to 25 seconds when it is told to stop.
      stopTimeout: Duration.seconds(60),
      healthCheck: {
        command: ["CMD", "node", "-e", askLivez],
        interval: Duration.seconds(30),
        timeout: Duration.seconds(5),
        retries: 3,
        startPeriod: Duration.seconds(60),
      },
    });
    acknowledge(
      task,
      "AwsSolutions-ECS2",
      "names and URLs only; the one secret is read by its name when the relay starts",
    );
    acknowledge(
      task,
      "AwsSolutions-IAM5[Resource::*]",
      "ecr:GetAuthorizationToken, without which no image of a registry of the account is pulled, knows no resource",
    );
    props.workQueue.grantSendMessages(task.taskRole);
    props.hub.grantOpen(task.taskRole);
    props.clusters?.grantCredentials(task.taskRole);

    this.service = new FargateService(this, "Service", {
      serviceName: props.name,
      // The class says "or undefined" where its interface says "or absent"; it is one and the same thing.
      cluster: cluster as ICluster,
      taskDefinition: task,
      desiredCount: props.tasks ?? 2,
      // A new relay watches before an old one goes.
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { rollback: true },
      assignPublicIp: props.publicAddresses,
      vpcSubnets: props.subnets,
      securityGroups: [
        new SecurityGroup(this, "SecurityGroup", {
          vpc: props.vpc,
          description: `${props.name}: calls kcp and AWS, nobody calls it`,
        }),
      ],
    });
  }
}
