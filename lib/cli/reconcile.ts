import { Argument, Command } from "commander";
import { faultOf } from "../kube/errors.ts";
import type { ReconciledKind } from "../model/key.ts";
import type { KubeObject } from "../model/kube-object.ts";
import { reconcileRequestedAnnotation } from "../relay/fingerprint.ts";
import type { CliIo } from "./cli-io.ts";
import { parseName } from "./names.ts";
import { inWorkspace, resourceTypes, type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

/** The words for each kind, as kubectl takes them. */
const kindWords: Readonly<Record<string, ReconciledKind>> = {
  cluster: "ClusterRegistration",
  clusterregistration: "ClusterRegistration",
  clusterregistrations: "ClusterRegistration",
  cr: "ClusterRegistration",
  placement: "WorkloadPlacement",
  workloadplacement: "WorkloadPlacement",
  workloadplacements: "WorkloadPlacement",
  wp: "WorkloadPlacement",
};

/** The command that has the controller look at one object now. */
export function reconcileCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("reconcile")
      .summary("have the controller look at an object now")
      .description(
        "Asks the controller to look at one object now: a cluster is probed, a placement decided. The wish is an annotation on the object, so whoever may change the object may ask.",
      )
      .addArgument(new Argument("<kind>", "cluster or placement").choices(Object.keys(kindWords)))
      .addArgument(new Argument("<name>", "the object's name").argParser(parseName)),
  ).action((word: string, name: string, options: WorkspaceOptions) =>
    inWorkspace(io, options, async ({ client }) => {
      const kind = kindWords[word] ?? "WorkloadPlacement"; // choices let nothing else through
      const type = kind === "ClusterRegistration" ? resourceTypes.clusters : resourceTypes.placements;
      // A change that the relay sees: the wish goes the way of every event, and no controller needs a port for orders.
      const annotations = { [reconcileRequestedAnnotation]: new Date(io.clock.now()).toISOString() };
      await client
        .patch<KubeObject>(
          { type, name },
          { type: "merge", body: { metadata: { annotations } } },
          { fieldManager: "tmc-cli" },
        )
        .catch(async (error: unknown) => {
          if (faultOf(error) !== "not-found") throw error;
          // Fails in its own words where it is the kind that is missing.
          await client.list({ type }, { limit: 1 });
          throw new Error(`${kind} "${name}": there is none`, { cause: error });
        });
      io.out(`${kind.toLowerCase()}.tmc.kcp.io/${name} will be reconciled\n`);
    }),
  );
}
