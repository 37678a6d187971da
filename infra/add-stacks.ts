import { type App, Tags } from "aws-cdk-lib";
import { namesOf } from "./names.ts";
import type { Settings } from "./settings.ts";
import { CoreStack } from "./stacks/core-stack.ts";
import { ObservabilityStack } from "./stacks/observability-stack.ts";
import { RelayStack } from "./stacks/relay-stack.ts";

export type DeploymentOptions = Readonly<{
  settings: Settings;
  /** Folder with a folder per function, as `npm run build` makes it. */
  bundles: string;
  /** Folder with the relay's Dockerfile. */
  imageFolder: string;
}>;

/**
 * The three stacks of a stage. They know neither account nor region and look nothing up, so that they are made without
 * either. Only the work queue's ARN and URL go from one to another, by strong references (`cdk.json`): the queue cannot be
 * taken away from under the relay.
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
