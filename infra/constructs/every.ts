import { Stack } from "aws-cdk-lib";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { CfnSchedule } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";

export interface EveryProps {
  /** Name of the schedule. */
  readonly scheduleName: string;
  /** What it is for, in a line. */
  readonly description: string;
  /** Whole minutes between two calls. */
  readonly minutes: number;
  /** Whom it calls. */
  readonly target: IFunction;
}

/**
 * Calls a function every so many minutes.
 *
 * Made from the plain resource: the ready-made target would let the schedule call every version of the function.
 */
export class Every extends Construct {
  constructor(scope: Construct, id: string, props: EveryProps) {
    super(scope, id);
    const role = new Role(this, "Role", {
      // Only schedules of this account may use the role.
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", {
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
      description: `${props.scheduleName}: ${props.description}`,
      inlinePolicies: {
        call: new PolicyDocument({
          statements: [
            new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [props.target.functionArn] }),
          ],
        }),
      },
    });
    new CfnSchedule(this, "Schedule", {
      name: props.scheduleName,
      description: props.description,
      scheduleExpression: `rate(${props.minutes} ${props.minutes === 1 ? "minute" : "minutes"})`,
      flexibleTimeWindow: { mode: "OFF" },
      target: {
        arn: props.target.functionArn,
        roleArn: role.roleArn,
        // A call that is late by more than one round would only meet the next one.
        retryPolicy: { maximumEventAgeInSeconds: 60 * Math.min(props.minutes, 60), maximumRetryAttempts: 3 },
      },
    });
  }
}
