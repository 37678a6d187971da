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

/** What all functions of a stage have in common. */
export interface FunctionSetup {
  /** Name of the stage, for logs and names. */
  readonly stage: string;
  /** Folder with a folder per function, as `npm run build` makes it. */
  readonly bundles: string;
  /**
   * 0 errors only, 2 a line per reconcile, 4 and more steps.
   * @default 2
   */
  readonly logLevel?: number;
  /**
   * How long log lines are kept.
   * @default 30 days
   */
  readonly logRetention?: RetentionDays;
  /**
   * Time that a function may take.
   * @default 20 seconds
   */
  readonly timeout?: Duration;
  /**
   * A network whose clusters have no public address; the functions then run in it.
   * @default none, functions run outside of any VPC
   */
  readonly network?: FunctionNetwork;
}

/** Where in a VPC functions run. */
export interface FunctionNetwork {
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  readonly securityGroup: ISecurityGroup;
}

export interface ControllerFunctionProps {
  readonly setup: FunctionSetup;
  /** Which bundle it runs. */
  readonly bundle: FunctionName;
  /** Name of the function in the account. */
  readonly functionName: string;
  /** What it is for, in a line. */
  readonly description: string;
  /** Who calls it, which says what becomes of a call that fails. */
  readonly calledBy: keyof typeof failureEnds;
  /** Variables of its environment besides those that all have. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Whether what it sends may come back to it without end, as a retry does; else Lambda stops it after some 16 rounds.
   * @default false
   */
  readonly loops?: boolean;
  /**
   * How often a failed call by a schedule is repeated; of no concern to functions that a queue feeds.
   * @default 2, as Lambda has it
   */
  readonly retryAttempts?: number;
  /**
   * Concurrent runs that are set aside for it, and are its bound.
   * @default none, it shares the account's
   */
  readonly reservedConcurrency?: number;
}

/** Time-out of a function that says nothing else; every visibility time-out follows from it. */
export const defaultTimeout = Duration.seconds(20);

/** Why no function needs a place for failed calls: what becomes of them, by who calls. */
const failureEnds = {
  queue: "the queue hands a failed message out again and at last sets it aside, or lets it expire",
  schedule: "the next call makes up for a failed one, and an alarm tells of missed ones",
  person: "whoever calls waits for the answer and sees the failure",
} as const;

/** A function of the controller: its code, a role of its own that may only write its log, and the log. */
export class ControllerFunction extends Construct {
  readonly function: LambdaFunction;
  readonly role: Role;
  readonly logGroup: LogGroup;
  readonly timeout: Duration;

  constructor(scope: Construct, id: string, props: ControllerFunctionProps) {
    super(scope, id);
    const { setup, bundle } = props;
    this.timeout = setup.timeout ?? defaultTimeout;
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `${props.functionName}: ${props.description}`,
    });
    this.logGroup = new LogGroup(this, "Log", {
      logGroupName: logGroupName(setup.stage, bundle),
      retention: setup.logRetention ?? 30,
      // Lines are kept by days; a log without its function would stand in the way of the next deploy under that name.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.logGroup.grantWrite(this.role);
    this.function = new LambdaFunction(this, "Function", {
      functionName: props.functionName,
      description: props.description,
      // Maps are for people; a function would only load more slowly with them.
      code: Code.fromAsset(bundleFolder(setup.bundles, bundle), { exclude: ["*.map"] }),
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      role: this.role,
      timeout: this.timeout,
      // TLS to many servers is what these functions do; less memory is less processor, and no cheaper.
      memorySize: 512,
      recursiveLoop: props.loops === true ? RecursiveLoop.ALLOW : RecursiveLoop.TERMINATE,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      // TMC_LOG_LEVEL alone decides what is written; Lambda's own filter would drop lines from debug down.
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
    const ends = failureEnds[props.calledBy];
    acknowledge(this.function, "Serverless-LambdaDLQ", ends);
    if (props.calledBy === "queue") acknowledge(this.function, "Serverless-LambdaEventSourceMappingDestination", ends);
    if (props.retryAttempts !== undefined) acknowledge(this.function, "Serverless-LambdaAsyncFailureDestination", ends);
    acknowledge(
      this.function,
      "Serverless-LambdaTracing",
      "its log has a line per reconcile with times; traces cost per call",
    );
  }

  #networkOf(network: FunctionNetwork | undefined) {
    if (network === undefined) return {};
    const name = "service-role/AWSLambdaVPCAccessExecutionRole";
    this.role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName(name));
    acknowledge(
      this.role,
      `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`,
      "network interfaces of a function have no names before they are made; AWS keeps the list of what it takes",
    );
    return { vpc: network.vpc, vpcSubnets: network.subnets, securityGroups: [network.securityGroup] };
  }
}

/** Folder of a function's bundle; names all that are missing at once. */
function bundleFolder(bundles: string, bundle: FunctionName): string {
  const isMissing = (name: FunctionName): boolean => !existsSync(join(bundles, name, "index.mjs"));
  if (isMissing(bundle)) {
    const missing = functionNames.filter(isMissing).join(", ");
    throw new ControllerError("invalid", `functions: no bundle of ${missing} in ${bundles}: run npm run build first`);
  }
  return join(bundles, bundle);
}
