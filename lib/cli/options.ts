import { faultOf } from "@tmc/kube/errors.ts";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { durationForm, parseDurationSeconds } from "../model/timestamp.ts";
import { parseName } from "./names.ts";
import type { OpenWorkspace } from "./workspace.ts";

/** The namespace option, named as in kubectl. */
export type NamespaceOptions = Readonly<{ namespace?: string }>;

/** Adds the --namespace option to a command. */
export function withNamespaceOption(command: Command): Command {
  return command.addOption(
    new Option("-n, --namespace <name>", "Namespace of the workload (default: the namespace of the kubeconfig context)")
      .argParser(parseName)
      .helpGroup("Connection options:"),
  );
}

/** Returns the namespace from the options, or else the one of the kubeconfig context. */
export function namespaceOf({ namespace }: NamespaceOptions, workspace: Pick<OpenWorkspace, "namespace">): string {
  return namespace ?? workspace.namespace;
}

/** Whether to wait for the result, and for how many seconds at most. */
export type WaitFlags = Readonly<{ wait?: true; timeout: number }>;

/** Creates the --timeout option. */
export function timeoutOption(
  preset: Readonly<{ seconds: number; text: string }> = { seconds: 60, text: "60s" },
): Option {
  return new Option("--timeout <duration>", "Maximum time to wait")
    .argParser((text: string) => {
      const seconds = parseDurationSeconds(text);
      if (seconds === undefined) throw new InvalidArgumentError(`expected ${durationForm}.`);
      return seconds;
    })
    .default(preset.seconds, preset.text);
}

/** Where a dry run ends: before the request, or in the server, which validates the object. */
export type DryRun = "client" | "server";

/** Creates the --dry-run option for a command that creates one object. */
export function dryRunOption(kind: string): Option {
  return new Option(
    "--dry-run [where]",
    `Print the ${kind} without storing it; server validates it too, client needs no server`,
  )
    .choices(["client", "server"])
    .preset("server");
}

/** Returns the addition to the message of a dry run, as kubectl prints it. */
export function dryRunText(dryRun: DryRun | undefined): string {
  return dryRun === undefined ? "" : dryRun === "server" ? " (server dry run)" : " (dry run)";
}

/** Creates the argument that names a registered cluster. */
export function clusterArgument(): Argument {
  return new Argument("<name>", "Name of the cluster").argParser(parseName);
}

/** Reads the registration of a cluster; when there is none, the error lists the registered clusters. */
export async function findRegistration(workspace: OpenWorkspace, name: string): Promise<ClusterRegistration> {
  return workspace.registration(name).catch((error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    return throwNotRegistered(workspace, name);
  });
}

/** In a workspace without TMC's API the list request fails, and that error is the more useful one. */
async function throwNotRegistered(workspace: OpenWorkspace, name: string): Promise<never> {
  const names = (await workspace.registrations()).map(({ metadata }) => metadata.name ?? "");
  throw new Error(`cluster "${name}": not registered; registered clusters: ${names.join(", ") || "none"}`);
}
