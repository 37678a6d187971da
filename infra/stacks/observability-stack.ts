import { CfnOutput, Stack } from "aws-cdk-lib";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Construct } from "constructs";
import { acknowledge } from "../checks.ts";
import { Monitoring } from "../constructs/monitoring.ts";
import type { StageNames } from "../names.ts";
import type { Settings } from "../settings.ts";

export interface ObservabilityStackProps {
  readonly settings: Settings;
  readonly names: StageNames;
}

/** Alarms, dashboard and notifications. */
export class ObservabilityStack extends Stack {
  constructor(scope: Construct, id: string, { settings, names }: ObservabilityStackProps) {
    super(scope, id, { description: `TMC ${settings.stage}: alarms and dashboard` });
    const topics = [
      ...(settings.alarmEmail === undefined ? [] : [this.#topic(settings.alarmEmail)]),
      ...(settings.alarmTopicArn === undefined ? [] : [Topic.fromTopicArn(this, "GivenTopic", settings.alarmTopicArn)]),
    ];
    new Monitoring(this, "Monitoring", {
      names,
      resyncMinutes: settings.resyncMinutes,
      relayTasks: settings["relay.mode"] === "external" ? 0 : settings["relay.tasks"],
      notReadyClusters: settings.alarmNotReadyClusters,
      topics,
    });
    new CfnOutput(this, "DashboardName", { value: names.dashboard });
  }

  #topic(email: string): Topic {
    const topic = new Topic(this, "Alarms", { enforceSSL: true });
    topic.addSubscription(new EmailSubscription(email));
    acknowledge(
      topic,
      "Serverless-SNSRedrivePolicy",
      "an e-mail that cannot be delivered is lost, but the alarm stays on the dashboard",
    );
    return topic;
  }
}
