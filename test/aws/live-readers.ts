import { DescribeLogGroupsCommand } from "@aws-sdk/client-cloudwatch-logs";
import {
  GetRoleCommand,
  GetRolePolicyCommand,
  ListAttachedRolePoliciesCommand,
  ListRolePoliciesCommand,
} from "@aws-sdk/client-iam";
import {
  GetEventSourceMappingCommand,
  GetFunctionConcurrencyCommand,
  GetFunctionConfigurationCommand,
  GetFunctionEventInvokeConfigCommand,
  GetFunctionRecursionConfigCommand,
} from "@aws-sdk/client-lambda";
import { GetScheduleCommand } from "@aws-sdk/client-scheduler";
import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import type { AwsClients } from "./aws-clients.ts";

/** A resource that was deployed: what it is called, and what the template asked for, with references resolved. */
export type Deployed = Readonly<{ physicalId: string; wanted: Readonly<Record<string, unknown>> }>;
/** Gives what is live of a resource in the words of the template. */
export type LiveReader = (aws: AwsClients, resource: Deployed) => Promise<Readonly<Record<string, unknown>>>;

const ecs = (aws: AwsClients, operation: string, input: object): Promise<unknown> =>
  aws.call({ service: "ecs", target: `AmazonEC2ContainerServiceV20141113.${operation}`, input });
const cloudWatch = (aws: AwsClients, operation: string, input: object): Promise<unknown> =>
  aws.call({ service: "monitoring", target: `GraniteServiceVersion20100801.${operation}`, input });

/** What a service gives back in another form: code as a hash, tags by a call of their own with others beside them. */
export const unreadable: readonly string[] = ["Code", "Tags"];
/** What stands in templates for the tool itself and is made nowhere. */
export const unmade: readonly string[] = ["AWS::CDK::Metadata"];

/** How each type of resource is read; a type that is not here is only searched in the stack's list. */
export const liveReaders: Readonly<Record<string, LiveReader>> = {
  "AWS::SQS::Queue": async ({ sqs }, { physicalId: QueueUrl }) => {
    const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
    const { RedrivePolicy, QueueArn = "" } = Attributes;
    return {
      ...Attributes,
      QueueName: QueueArn.split(":").at(-1),
      RedrivePolicy: RedrivePolicy === undefined ? undefined : parse(RedrivePolicy),
    };
  },
  "AWS::SQS::QueuePolicy": async ({ sqs }, { wanted: { Queues } }) => {
    const QueueUrl = String(Array.isArray(Queues) ? Queues[0] : undefined);
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["Policy"] }));
    return { PolicyDocument: parse(Attributes?.Policy ?? "null"), Queues };
  },
  "AWS::Lambda::Function": async ({ lambda }, { physicalId: FunctionName }) => {
    const [configuration, recursion, concurrency] = await Promise.all([
      lambda.send(new GetFunctionConfigurationCommand({ FunctionName })),
      lambda.send(new GetFunctionRecursionConfigCommand({ FunctionName })),
      lambda.send(new GetFunctionConcurrencyCommand({ FunctionName })),
    ]);
    return { ...configuration, RecursiveLoop: recursion.RecursiveLoop, ...concurrency };
  },
  "AWS::Lambda::EventSourceMapping": async ({ lambda }, { physicalId: UUID }) => {
    const { FunctionArn, State, ...mapping } = await lambda.send(new GetEventSourceMappingCommand({ UUID }));
    return { ...mapping, FunctionName: FunctionArn?.split(":").at(-1), Enabled: State === "Enabled" };
  },
  "AWS::Lambda::EventInvokeConfig": async ({ lambda }, { wanted: { FunctionName, Qualifier } }) => {
    const FunctionAndVersion = { FunctionName: String(FunctionName), Qualifier: String(Qualifier) };
    const live = await lambda.send(new GetFunctionEventInvokeConfigCommand(FunctionAndVersion));
    return { ...live, FunctionName, Qualifier };
  },
  "AWS::Scheduler::Schedule": async ({ scheduler }, { wanted: { Name, GroupName } }) => {
    const group = GroupName === undefined ? {} : { GroupName: String(GroupName) };
    return { ...(await scheduler.send(new GetScheduleCommand({ Name: String(Name), ...group }))) };
  },
  "AWS::IAM::Role": async ({ iam }, { physicalId: RoleName }) => {
    const { Role } = await iam.send(new GetRoleCommand({ RoleName }));
    const { AttachedPolicies = [] } = await iam.send(new ListAttachedRolePoliciesCommand({ RoleName }));
    const { PolicyNames = [] } = await iam.send(new ListRolePoliciesCommand({ RoleName }));
    const policies = await Promise.all(
      PolicyNames.map(async (PolicyName) => {
        const { PolicyDocument = "" } = await iam.send(new GetRolePolicyCommand({ RoleName, PolicyName }));
        return { PolicyName, PolicyDocument: parse(decodeURIComponent(PolicyDocument)) };
      }),
    );
    return {
      ...Role,
      AssumeRolePolicyDocument: parse(decodeURIComponent(Role?.AssumeRolePolicyDocument ?? "null")),
      ManagedPolicyArns: AttachedPolicies.map(({ PolicyArn }) => PolicyArn),
      // Policies of their own in the template are attached to the role by another resource.
      Policies: policies.filter(({ PolicyName }) => !PolicyName.includes("DefaultPolicy")),
    };
  },
  "AWS::IAM::Policy": async ({ iam }, { wanted: { PolicyName, Roles } }) => {
    const RoleName = String(Array.isArray(Roles) ? Roles[0] : undefined);
    const name = { RoleName, PolicyName: String(PolicyName) };
    const { PolicyDocument = "null" } = await iam.send(new GetRolePolicyCommand(name));
    return { PolicyDocument: parse(decodeURIComponent(PolicyDocument)), PolicyName, Roles };
  },
  "AWS::Logs::LogGroup": async ({ logs }, { physicalId }) => {
    const { logGroups = [] } = await logs.send(new DescribeLogGroupsCommand({ logGroupNamePrefix: physicalId }));
    const group = logGroups.find(({ logGroupName }) => logGroupName === physicalId);
    return { LogGroupName: group?.logGroupName, RetentionInDays: group?.retentionInDays };
  },
  "AWS::ECS::TaskDefinition": async (aws, { physicalId: taskDefinition }) => {
    const answer = capitalised(await ecs(aws, "DescribeTaskDefinition", { taskDefinition }));
    return record(record(answer).TaskDefinition);
  },
  "AWS::ECS::Service": async (aws, { physicalId, wanted: { Cluster } }) => {
    const answer = capitalised(await ecs(aws, "DescribeServices", { cluster: Cluster, services: [physicalId] }));
    const { Services } = record(answer);
    return { ...record(Array.isArray(Services) ? Services[0] : undefined), Cluster };
  },
  "AWS::CloudWatch::Alarm": async (aws, { physicalId }) => {
    const answer = record(await cloudWatch(aws, "DescribeAlarms", { AlarmNames: [physicalId] }));
    return record(Array.isArray(answer.MetricAlarms) ? answer.MetricAlarms[0] : undefined);
  },
};

/** The wire's words with the capital letters of the template's; what people named themselves stays beside them. */
function capitalised(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(capitalised);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => [
      [key, each],
      [`${key.charAt(0).toUpperCase()}${key.slice(1)}`, capitalised(each)],
    ]),
  );
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const parse = (text: string): unknown => JSON.parse(text);
