import { type App, Tags } from "aws-cdk-lib";
import { namesOf } from "./names.ts";
import type { Settings } from "./settings.ts";
import { CoreStack } from "./stacks/core-stack.ts";
import { ObservabilityStack } from "./stacks/observability-stack.ts";
import { RelayStack } from "./stacks/relay-stack.ts";

export type DeploymentOptions = Readonly<{
  settings: Settings;
  /** Folder with one folder per function, as `npm run build` creates it. */
  bundles: string;
  /** Folder with the relay's Dockerfile. */
  imageFolder: string;
}>;

/**
 * Adds the three stacks of a stage. They are independent of account and region and use no lookups, so synth needs neither. Only
 * the ARN and the URL of the work queue are shared between stacks, by strong references (`cdk.json`): CloudFormation does
 * not delete the queue while the relay uses it.
 */
export function addStacks(app: App, { settings, bundles, imageFolder }: DeploymentOptions) {
  const names = namesOf(settings.stage);
  const id = (part: string): string => `Tmc-${settings.stage}-${part}`;
  const core = new CoreStack(app, id("Core"), { settings, names, bundles });
  const relay = new RelayStack(app, id("Relay"), { settings, names, imageFolder, workQueue: core.queue.work });
  const observability = new ObservabilityStack(app, id("Observability"), { settings, names });
  Tags.of(app).add("tmc:stage", settings.stage);
  return { core, relay, observability };
}
