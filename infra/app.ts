import { dirname, join } from "node:path";
import { ControllerError } from "@tmc/kube/fault.ts";
import { App } from "aws-cdk-lib";
import { addStacks } from "./add-stacks.ts";
import { addChecks } from "./checks.ts";
import { readSettings } from "./read-settings.ts";

const root = dirname(import.meta.dirname);

try {
  // Synthesized explicitly: the automatic synth would also write stacks that were created before an error.
  const app = new App({ autoSynth: false });
  const settings = readSettings(join(root, "tmc.config.json"), app.node.getAllContext());
  addStacks(app, { settings, bundles: join(root, "dist", "functions"), imageFolder: root });
  addChecks(app);
  app.synth();
} catch (error) {
  // Errors that the operator can fix are one line; all others have a stack trace.
  if (!(error instanceof ControllerError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
