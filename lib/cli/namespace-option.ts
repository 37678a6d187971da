import { type Command, Option } from "commander";
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
