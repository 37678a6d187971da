import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DescribeStackResourcesCommand } from "@aws-sdk/client-cloudformation";
import type { AwsClients } from "./aws-clients.ts";
import { compare, type Difference } from "./compare.ts";
import { type Deployed, liveReaders, unmade, unreadable } from "./live-readers.ts";
import { type References, resolve, type Template, unknown } from "./template.ts";

/** A difference, and the resource that it is about. */
export type Finding = Difference & Readonly<{ stack: string; resource: string; type: string }>;

/** What a comparison of a whole deployment came to. */
export type CheckedDeployment = Readonly<{
  resources: number;
  compared: number;
  findings: readonly Finding[];
  /** Types of resources that were only checked for presence. */
  unread: readonly string[];
}>;

/** Compares every resource of every template of an assembly with what the endpoint really holds. */
export async function checkDeployment(aws: AwsClients, assembly: string): Promise<CheckedDeployment> {
  const findings: Finding[] = [];
  const unread = new Set<string>();
  let [resources, compared] = [0, 0];
  for (const stack of await stacksOf(assembly)) {
    const physicalIds = await readPhysicalIds(aws, stack.name);
    const references = referencesOf(stack.template, physicalIds);
    for (const [name, { Type: type, Properties = {} }] of Object.entries(stack.template.Resources)) {
      if (unmade.includes(type)) continue;
      resources += 1;
      const at = { stack: stack.name, resource: name, type };
      const physicalId = physicalIds.get(name);
      if (physicalId === undefined) {
        findings.push({ ...at, path: "", wanted: "a resource", live: undefined });
        continue;
      }
      const reader = liveReaders[type];
      if (reader === undefined) {
        unread.add(type);
        continue;
      }
      const readable = Object.entries(Properties).filter(([property]) => !unreadable.includes(property));
      const wanted = Object.fromEntries(readable.map(([property, value]) => [property, resolve(value, references)]));
      const deployed: Deployed = { physicalId, wanted };
      const live = await reader(aws, deployed);
      const { compared: count, differences } = compare(wanted, live);
      compared += count;
      findings.push(...differences.map((difference) => ({ ...at, ...difference })));
    }
  }
  return { resources, compared, findings, unread: [...unread].toSorted() };
}

/** The stacks of an assembly, by the names they have where they are deployed. */
export async function stacksOf(assembly: string): Promise<readonly Readonly<{ name: string; template: Template }>[]> {
  const files = (await readdir(assembly)).filter((file) => file.endsWith(".template.json")).toSorted();
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(".template.json", ""),
      template: JSON.parse(await readFile(join(assembly, file), "utf8")) as Template, // the tool's own form
    })),
  );
}

async function readPhysicalIds({ cloudFormation }: AwsClients, stack: string): Promise<ReadonlyMap<string, string>> {
  const { StackResources = [] } = await cloudFormation.send(new DescribeStackResourcesCommand({ StackName: stack }));
  return new Map(
    StackResources.map(({ LogicalResourceId = "", PhysicalResourceId = "" }) => [
      LogicalResourceId,
      PhysicalResourceId,
    ]),
  );
}

function referencesOf({ Resources }: Template, physicalIds: ReadonlyMap<string, string>): References {
  return {
    ref: (name) => physicalIds.get(name) ?? unknown,
    attribute: (name, attribute) => {
      // The end of an ARN is the physical id for these; where it begins differs from endpoint to endpoint.
      if (attribute !== "Arn" || Resources[name]?.Type !== "AWS::ECS::TaskDefinition") return unknown;
      return physicalIds.get(name) ?? unknown;
    },
  };
}
