import { Command } from "commander";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { findCondition } from "../../model/condition.ts";
import { acceptIdentityAnnotation, unknownIdentity } from "../../registration/identity.ts";
import { type CliIo, confirmDeletion, UsageError } from "../cli-io.ts";
import { clusterArgument, findRegistration } from "../options.ts";
import { inWorkspace, resourceTypes, type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";

const resourceName = "clusterregistration.tmc.kcp.io";

type AcceptIdentityOptions = WorkspaceOptions & Readonly<{ uid?: string; yes?: true }>;

const help = `
TMC stores the uid of a cluster's namespace kube-system when it first reaches
the cluster. If another cluster answers later, because the kubeconfig was
changed or the cluster was rebuilt, the registration is not Ready
(ClusterIdentityChanged), and TMC neither writes to the cluster nor deletes
anything because of what it lacks.

After it is accepted, TMC applies the workloads to it and forgets their copies
on the old cluster, which stay there. If it has none of the upsynced objects,
they stay in the workspace until tmc confirm; if it has some of them, the
deletion of the others is subject to the deletion guard.

Examples:
  # Show the old and the new cluster, and accept the new one
  tmc cluster accept-identity east

  # Accept a rebuilt cluster before its kubeconfig is changed
  tmc cluster accept-identity east --uid 6f0c0a3e-0a4b-4a0c-9d0e-1f2d3c4b5a69
`;

/** Creates the `cluster accept-identity` command. */
export function acceptIdentityCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("accept-identity")
      .summary("Accept that another cluster answers under the name of a registered one")
      .description("Accept that another cluster answers under the name of a registered one. No other uid is accepted.")
      .addArgument(clusterArgument())
      .option(
        "--uid <uid>",
        `Accepted uid, or ${unknownIdentity} if TMC may not read it (default: the one that answers)`,
      )
      .option("-y, --yes", "Do not ask for confirmation"),
  )
    .addHelpText("after", help)
    .action((name: string, options: AcceptIdentityOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const registration = await findRegistration(workspace, name);
        const uid = uidToAccept(registration, options.uid);
        if (uid === undefined) {
          io.out(`${resourceName}/${name} unchanged: the registered cluster answers\n`);
          return;
        }
        const records = await workspace.syncRecords();
        const workloads = records.filter(({ spec }) => spec.clusters?.includes(name) === true).length;
        io.err(describeChange(registration, { uid, workloads }));
        const question = `Accept the cluster with uid ${uid} as ${name}?`;
        if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
        await workspace.client.patch(
          { type: resourceTypes.registrations, name },
          { type: "merge", body: { metadata: { annotations: { [acceptIdentityAnnotation]: uid } } } },
          { fieldManager: "tmc-cli" },
        );
        io.out(`${resourceName}/${name} accepts uid ${uid}\n`);
      }),
    );
}

/**
 * Returns the uid that the annotation should have; undefined if there is nothing to accept. While another cluster answers, only
 * its uid can be accepted; otherwise a given uid is accepted in advance.
 */
export function uidToAccept({ metadata, status }: ClusterRegistration, given: string | undefined): string | undefined {
  const { observedClusterUID } = status ?? {};
  if (observedClusterUID !== undefined) {
    if (given === undefined || given === observedClusterUID) return observedClusterUID;
    throw new UsageError(`cluster "${metadata.name}": the uid of the cluster that answers is ${observedClusterUID}`);
  }
  const isUnknown = findCondition(status?.conditions, "Ready")?.reason === "ClusterIdentityUnknown";
  return given ?? (isUnknown ? unknownIdentity : undefined);
}

function describeChange(
  { status }: ClusterRegistration,
  { uid, workloads }: Readonly<{ uid: string; workloads: number }>,
): string {
  const copies = workloads === 1 ? "1 workload has a copy" : `${workloads} workloads have copies`;
  return [
    `Registered cluster: ${status?.clusterUID ?? "not known"}`,
    `Cluster to accept:  ${uid}`,
    `${copies} on the registered cluster. They are applied to the accepted one, and the old copies stay where they are.`,
    "",
  ].join("\n");
}
