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
  /** Name of the stage, for logs and metrics. */
  readonly stage: string;
  /** Name of the ECS cluster and of its service. */
  readonly name: string;
  readonly workQueue: IQueue;
  readonly hub: HubAccess;
  readonly image: ContainerImage;
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  /** Whether tasks get public addresses, for subnets that only have an internet gateway. */
  readonly publicAddresses: boolean;
  /**
   * Number of tasks. They need no leader, because the queue deduplicates changes.
   * @default 2
   */
  readonly tasks?: number;
  /**
   * Whether the relay watches workloads too.
   * @default true
   */
  readonly sync?: boolean;
  /**
   * Access to clusters, for a relay that watches them too.
   * @default none, the relay watches the upstream only
   */
  readonly clusters?: ClusterAccess | undefined;
  /**
   * Keys of one tenant that the relay sends per second, if there can be several tenants; 0 for no limit.
   * @default 100
   */
  readonly tenantEventsPerSecond?: number;
  /** @default 2 */
  readonly logLevel?: number;
  /** @default 30 days */
  readonly logRetention?: RetentionDays;
}

/**
 * Ready once, then live: a relay that never sees the upstream fails its deployment, and one that loses the upstream later is
 * not restarted, because a restart would not help. ECS ignores the health check of an image.
 */
const checkStartup =
  "fetch('http://127.0.0.1:8081/startupz').then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))";

/** The relay on Fargate: small, active-active tasks that watch kcp and send the keys of changed objects. */
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
      "the relay's own metrics and the number of its tasks are sufficient, and free",
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
        ...(props.clusters === undefined
          ? {}
          : { TMC_WATCH_CLUSTERS: "true", ...props.clusters.connectionEnvironment }),
        TMC_TENANT_EVENTS_PER_SECOND: String(props.tenantEventsPerSecond ?? defaultTenantEventsPerSecond),
      },
      // Non-blocking: a relay that cannot log must still work.
      logging: LogDrivers.awsLogs({ logGroup, streamPrefix: "relay", mode: AwsLogDriverMode.NON_BLOCKING }),
      user: "1000:1000",
      readonlyRootFilesystem: true,
      linuxParameters,
      // The relay flushes for up to 25 seconds after SIGTERM.
      stopTimeout: Duration.seconds(60),
      healthCheck: {
        command: ["CMD", "node", "-e", checkStartup],
        interval: Duration.seconds(30),
        timeout: Duration.seconds(5),
        retries: 3,
        // The maximum of ECS: a relay lists everything before it is ready.
        startPeriod: Duration.seconds(300),
      },
    });
    acknowledge(task, "AwsSolutions-ECS2", "names and URLs only; the relay reads its secret by name at start");
    acknowledge(
      task,
      "AwsSolutions-IAM5[Resource::*]",
      "ecr:GetAuthorizationToken, which is needed to pull an image from ECR, does not support resources",
    );
    props.workQueue.grantSendMessages(task.taskRole);
    props.hub.grantReadKubeconfig(task.taskRole);
    props.clusters?.grantCredentials(task.taskRole);

    this.service = new FargateService(this, "Service", {
      serviceName: props.name,
      // The class declares optional properties as "or undefined", the interface as absent; they are compatible.
      cluster: cluster as ICluster,
      taskDefinition: task,
      desiredCount: props.tasks ?? 2,
      // A new task watches before an old one stops.
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { rollback: true },
      assignPublicIp: props.publicAddresses,
      vpcSubnets: props.subnets,
      securityGroups: [
        new SecurityGroup(this, "SecurityGroup", {
          vpc: props.vpc,
          description: `${props.name}: outgoing connections only`,
        }),
      ],
    });
  }
}
