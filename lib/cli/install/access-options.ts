import { type Command, Option } from "commander";
import { accessTypeNames, type ClusterAccessOptions, unknownTypes } from "../../install/cluster-access.ts";
import { UsageError } from "../cli-io.ts";
import { collectList } from "../names.ts";

/** The options that select what TMC may do on a member cluster. */
export type AccessTypeFlags = Readonly<{
  type?: readonly string[];
  customType?: readonly string[];
  installCrds?: true;
  listAllTypes?: true;
  admissionPolicy?: boolean;
}>;

/** Adds the options to a command. */
export function accessTypeOptions(command: Command, suffix = ""): Command {
  return command
    .addOption(
      new Option(
        "--type <plural.group>",
        `Workload type that TMC may write, such as deployments.apps; can be repeated or comma-separated (default: all built-in types)${suffix}`,
      ).argParser(collectList),
    )
    .addOption(
      new Option(
        "--custom-type <plural.group>",
        `Custom workload type that TMC may write; can be repeated or comma-separated${suffix}`,
      ).argParser(collectList),
    )
    .option("--install-crds", `Allow TMC to install CustomResourceDefinitions${suffix}`)
    .option(
      "--list-all-types",
      `Allow TMC to list objects of every type. Without it, TMC cannot see whether a namespace is empty and never deletes one${suffix}`,
    )
    .option("--no-admission-policy", `Omit the admission policy, which needs Kubernetes 1.30${suffix}`);
}

/** Validates the options. */
export function readAccessTypes(flags: AccessTypeFlags): ClusterAccessOptions {
  const { type: only, customType = [], installCrds, listAllTypes, admissionPolicy = true } = flags;
  const unknown = unknownTypes(only ?? []);
  if (unknown.length > 0) {
    throw new UsageError(`--type ${unknown.join(",")}: not one of ${accessTypeNames.join(", ")}`);
  }
  return {
    only,
    customTypes: customType.map(parseCustomType),
    installsDefinitions: installCrds === true,
    listsAllTypes: listAllTypes === true,
    hasPolicy: admissionPolicy,
  };
}

function parseCustomType(text: string): Readonly<{ group: string; plural: string }> {
  const { plural, group } = /^(?<plural>[a-z0-9]+)\.(?<group>[a-z0-9.-]+)$/.exec(text)?.groups ?? {};
  if (plural === undefined || group === undefined) {
    throw new UsageError(`--custom-type ${text}: not a type such as databases.example.com`);
  }
  return { plural, group };
}
