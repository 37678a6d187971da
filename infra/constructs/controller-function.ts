import { existsSync } from "node:fs";
import { join } from "node:path";
import { ControllerError } from "@tmc/kube/fault.ts";
import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { ISecurityGroup, IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  ApplicationLogLevel,
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { acknowledge } from "../checks.ts";
import { type FunctionName, functionNames, logGroupName } from "../names.ts";

/** Settings that all functions of a stage share. */
export interface FunctionSetup {
  /** Name of the stage, for logs and metrics. */
  readonly stage: string;
  /** Folder with one folder per function, as `npm run build` creates it. */
  readonly bundles: string;
  /**
   * 0 errors only, 2 one line per reconcile, 4 and more: steps.
   * @default 2
   */
  readonly logLevel?: number;
  /**
   * Retention of logs.
   * @default 30 days
   */
  readonly logRetention?: RetentionDays;
  /**
   * Timeout of a function.
   * @default 20 seconds
   */
  readonly timeout?: Duration;
  /**
   * VPC that the functions run in, for clusters without a public address.
   * @default none, functions run outside of a VPC
   */
  readonly network?: FunctionNetwork;
}

export interface FunctionNetwork {
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  readonly securityGroup: ISecurityGroup;
}

export interface ControllerFunctionProps {
  readonly setup: FunctionSetup;
  readonly bundle: FunctionName;
  readonly functionName: string;
  /** One line. */
  readonly description: string;
  /** Source of its invocations, which determines how a failed invocation is handled. */
  readonly invokedBy: keyof typeof failureHandling;
  /** Environment variables, besides those that all functions have. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Whether its messages may return to it any number of times, as retries do. Otherwise Lambda stops the loop after about 16 invocations.
   * @default false
   */
  readonly allowRecursion?: boolean;
  /**
   * Retries of a failed asynchronous invocation; irrelevant to functions that consume a queue.
   * @default 2, the default of Lambda
   */
  readonly retryAttempts?: number;
  /**
   * Timeout of this function.
   * @default the timeout of the setup
   */
  readonly timeout?: Duration;
  /**
   * Memory in megabytes; CPU time is proportional to it.
   * @default 512
   */
  readonly memorySize?: number;
  /**
   * Reserved concurrency, which is also its limit.
   * @default none, it shares the account's concurrency
   */
  readonly reservedConcurrency?: number;
}

/** Every visibility timeout is derived from it. */
export const defaultTimeout = Duration.seconds(20);

/** Why no function needs a failure destination: how failed invocations are handled, by source. */
const failureHandling = {
  queue: "the queue delivers a failed message again, then dead-letters it or lets it expire",
  schedule: "the next invocation repairs a failed one, and an alarm reports missed ones",
  operator: "the caller waits for the response and sees the failure",
} as const;

/** A function of TMC with its log group and its own role, which may only write that log. */
export class ControllerFunction extends Construct {
  readonly function: LambdaFunction;
  readonly role: Role;
  readonly logGroup: LogGroup;
  readonly timeout: Duration;

  constructor(scope: Construct, id: string, props: ControllerFunctionProps) {
    super(scope, id);
    const { setup, bundle } = props;
    this.timeout = props.timeout ?? setup.timeout ?? defaultTimeout;
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `${props.functionName}: ${props.description}`,
    });
    this.logGroup = new LogGroup(this, "Log", {
      logGroupName: logGroupName(setup.stage, bundle),
      retention: setup.logRetention ?? 30,
      // A log group that outlives its stack would make the next deployment of that name fail.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.logGroup.grantWrite(this.role);
    this.function = new LambdaFunction(this, "Function", {
      functionName: props.functionName,
      description: props.description,
      // Source maps would only slow down the load of the function.
      code: Code.fromAsset(bundleFolder(setup.bundles, bundle), { exclude: ["*.map"] }),
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      role: this.role,
      timeout: this.timeout,
      // The functions spend their CPU time on TLS. Less memory would mean less CPU and longer, not cheaper, invocations.
      memorySize: props.memorySize ?? 512,
      recursiveLoop: props.allowRecursion === true ? RecursiveLoop.ALLOW : RecursiveLoop.TERMINATE,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      // TMC_LOG_LEVEL decides what is written; Lambda's own filter would drop debug and trace lines.
      applicationLogLevelV2: ApplicationLogLevel.TRACE,
      environment: {
        TMC_STAGE: setup.stage,
        TMC_LOG_LEVEL: String(setup.logLevel ?? 2),
        ...props.environment,
      },
      ...(props.retryAttempts === undefined ? {} : { retryAttempts: props.retryAttempts }),
      ...(props.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: props.reservedConcurrency }),
      ...this.#networkOf(setup.network),
    });
    const handling = failureHandling[props.invokedBy];
    acknowledge(this.function, "Serverless-LambdaDLQ", handling);
    if (props.invokedBy === "queue")
      acknowledge(this.function, "Serverless-LambdaEventSourceMappingDestination", handling);
    if (props.retryAttempts !== undefined)
      acknowledge(this.function, "Serverless-LambdaAsyncFailureDestination", handling);
    acknowledge(
      this.function,
      "Serverless-LambdaTracing",
      "the log has one line with durations per reconcile; traces are billed per invocation",
    );
  }

  #networkOf(network: FunctionNetwork | undefined) {
    if (network === undefined) return {};
    const name = "service-role/AWSLambdaVPCAccessExecutionRole";
    this.role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName(name));
    acknowledge(
      this.role,
      `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`,
      "network interfaces of a function have no ARNs before they exist; AWS maintains the permissions in this policy",
    );
    return { vpc: network.vpc, vpcSubnets: network.subnets, securityGroups: [network.securityGroup] };
  }
}

/** The folder of a bundle; the error lists all missing bundles. */
function bundleFolder(bundles: string, bundle: FunctionName): string {
  const isMissing = (name: FunctionName): boolean => !existsSync(join(bundles, name, "index.mjs"));
  if (isMissing(bundle)) {
    const missing = functionNames.filter(isMissing).join(", ");
    throw new ControllerError("invalid", `functions: no bundle of ${missing} in ${bundles}: run npm run build first`);
  }
  return join(bundles, bundle);
}
