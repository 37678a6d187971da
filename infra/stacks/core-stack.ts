import { CfnOutput, RemovalPolicy, Stack } from "aws-cdk-lib";
import { SecurityGroup } from "aws-cdk-lib/aws-ec2";
import type { Construct } from "constructs";
import { ClusterAccess } from "../constructs/cluster-access.ts";
import type { FunctionNetwork, FunctionSetup } from "../constructs/controller-function.ts";
import { ForwardFunction } from "../constructs/forward-function.ts";
import { HealthFunction } from "../constructs/health-function.ts";
import { HeartbeatPipeline } from "../constructs/heartbeat-pipeline.ts";
import { HubAccess } from "../constructs/hub-access.ts";
import { ReconcileFunction } from "../constructs/reconcile-function.ts";
import { Resync } from "../constructs/resync.ts";
import { WorkQueue } from "../constructs/work-queue.ts";
import type { StageNames } from "../names.ts";
import type { Settings } from "../settings.ts";
import { existingNetwork } from "./existing-network.ts";

export interface CoreStackProps {
  readonly settings: Settings;
  readonly names: StageNames;
  readonly bundles: string;
}

/** Queues, functions and schedules: everything but the relay and the monitoring. */
export class CoreStack extends Stack {
  readonly queue: WorkQueue;

  constructor(scope: Construct, id: string, { settings, names, bundles }: CoreStackProps) {
    super(scope, id, { description: `TMC ${settings.stage}: queues, functions and schedules` });
    const { queues, functions, schedules } = names;
    const network = this.#functionNetwork(settings);
    const setup: FunctionSetup = {
      stage: settings.stage,
      bundles,
      logLevel: settings.logLevel,
      logRetention: settings.logRetentionDays,
      ...(network === undefined ? {} : { network }),
    };
    const hub = new HubAccess(this, "Hub", {
      hub: settings.hub,
      hubId: settings.hubId,
      secret: settings.kcpSecret,
      kmsKeyArns: settings.kmsKeyArns,
      workspaces: settings.workspaces,
      apiExport: settings.apiExport,
    });
    const clusters = new ClusterAccess(this, "Clusters", {
      stage: settings.stage,
      providers: settings.credentialProviders,
      allowedEndpoints: settings.allowedEndpoints,
      heartbeatSeconds: settings.heartbeatSeconds,
      kmsKeyArns: settings.kmsKeyArns,
      sync: settings.sync,
      maxDeletions: settings.maxDeletions,
      maxDeletionsPercent: settings.maxDeletionsPercent,
    });
    const concurrency = (max: number) => ({
      maxConcurrency: max,
      ...(settings["concurrency.reserve"] ? { reservedConcurrency: max } : {}),
    });

    this.queue = new WorkQueue(this, "Queue", {
      workName: queues.work,
      delayName: queues.delay,
      deadLettersName: queues.deadLetters,
      delayDeadLettersName: queues.delayDeadLetters,
      tenantEventsPerSecond: settings.tenantEventsPerSecond,
      ...(settings.removal === "destroy" ? { deadLettersRemoval: RemovalPolicy.DESTROY } : {}),
    });
    const common = { setup, queue: this.queue };
    const reconcile = new ReconcileFunction(this, "Reconcile", {
      ...common,
      ...concurrency(settings["concurrency.reconcile"]),
      functionName: functions.reconcile,
      hub,
      clusters,
    });
    new ForwardFunction(this, "Forward", {
      ...common,
      ...concurrency(settings["concurrency.forward"]),
      functionName: functions.forward,
    });
    const heartbeat = new HeartbeatPipeline(this, "Heartbeat", {
      ...common,
      ...concurrency(settings["concurrency.probe"]),
      plannerName: functions.heartbeat,
      probeName: functions.probe,
      queueName: queues.heartbeat,
      deadLettersName: queues.heartbeatDeadLetters,
      scheduleName: schedules.heartbeat,
      hub,
      clusters,
    });
    new Resync(this, "Resync", {
      ...common,
      functionName: functions.resync,
      queueName: queues.resync,
      scheduleName: schedules.resync,
      minutes: settings.resyncMinutes,
      sync: settings.sync,
      hub,
    });
    new HealthFunction(this, "Health", {
      ...common,
      functionName: functions.health,
      heartbeats: heartbeat.heartbeats,
      hub,
    });

    const output = (name: string, value: string): CfnOutput => new CfnOutput(this, name, { value });
    output("WorkQueueUrl", this.queue.work.queueUrl);
    output("DelayQueueUrl", this.queue.delay.queueUrl);
    output("DeadLettersUrl", this.queue.deadLetters.queueUrl);
    output("DelayDeadLettersUrl", this.queue.delayDeadLetters.queueUrl);
    output("HeartbeatQueueUrl", heartbeat.heartbeats.queueUrl);
    output("HealthFunctionName", functions.health);
    // The principals that an EKS cluster, or a role of another account, must trust.
    output("ReconcileRoleArn", reconcile.role.roleArn);
    output("ProbeRoleArn", heartbeat.probe.role.roleArn);
  }

  #functionNetwork(settings: Settings): FunctionNetwork | undefined {
    const network = settings["vpc.functions"] ? existingNetwork(this, settings) : undefined;
    if (network === undefined) return undefined;
    const securityGroup = new SecurityGroup(this, "FunctionsSecurityGroup", {
      vpc: network.vpc,
      description: `TMC ${settings.stage}: functions, outgoing connections only`,
    });
    return { ...network, securityGroup };
  }
}
