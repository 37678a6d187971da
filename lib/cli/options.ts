import { faultOf } from "@tmc/kube/errors.ts";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { durationForm, parseDurationSeconds } from "../model/duration.ts";
import { parseName } from "./names.ts";
import type { Workspace } from "./workspace.ts";

/** In which namespace a command works, in the words that kubectl has for it. */
export type NamespaceOptions = Readonly<{ namespace?: string }>;

/** Adds the option that says in which namespace a command works. */
export function withNamespaceOption(command: Command): Command {
  return command.addOption(
    new Option("-n, --namespace <name>", "the namespace (otherwise that of the kubeconfig's context, or default)")
      .argParser(parseName)
      .helpGroup("Where:"),
  );
}

/** The namespace that the options name, or that the kubeconfig's context is in. */
export function namespaceOf({ namespace }: NamespaceOptions, workspace: Pick<Workspace, "namespace">): string {
  return namespace ?? workspace.namespace;
}

/** Whether to wait for what was asked, and for how many seconds. */
export type WaitFlags = Readonly<{ wait?: true; timeout: number }>;

/** The option that bounds a wait. */
export function timeoutOption(
  usual: Readonly<{ seconds: number; shown: string }> = { seconds: 60, shown: "60s" },
): Option {
  return new Option("--timeout <duration>", "how long to wait at most")
    .argParser((text: string) => {
      const seconds = parseDurationSeconds(text);
      if (seconds === undefined) throw new InvalidArgumentError(`write ${durationForm}.`);
      return seconds;
    })
    .default(usual.seconds, usual.shown);
}

/** The argument that names a registered cluster. */
export function clusterArgument(): Argument {
  return new Argument("<name>", "the cluster's name").argParser(parseName);
}

/** The cluster of that name, or an error that says which there are. */
export async function findCluster(workspace: Workspace, name: string): Promise<ClusterRegistration> {
  return workspace.cluster(name).catch((error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    return missingCluster(workspace, name);
  });
}

/** Also tells a workspace without our kinds, for which the list fails in its own words. */
async function missingCluster(workspace: Workspace, name: string): Promise<never> {
  const names = (await workspace.clusters()).map(({ metadata }) => metadata.name ?? "");
  throw new Error(`cluster "${name}": is not registered; there are ${names.join(", ") || "none"}`);
}
