import { UsageError } from "../cli-io.ts";
import type { OpenWorkspace } from "../workspace.ts";
import { type NamedType, parseWorkloadType } from "./workload-argument.ts";
import { listedWorkloads } from "./workload-list.ts";
import { readWorkloads } from "./workload-objects.ts";

/**
 * Returns the workloads of a namespace in the form that completes the last word: `deploy/web` after `deploy/`, `web` after the
 * word `deploy`, and otherwise `deployment.apps/web`.
 */
export async function workloadNames(
  workspace: OpenWorkspace,
  { namespace, words }: Readonly<{ namespace: string; words: readonly string[] }>,
): Promise<readonly string[]> {
  const [before = "", current = ""] = words.slice(-2);
  const slash = current.indexOf("/");
  const prefix = slash < 0 ? "" : current.slice(0, slash);
  const type = typeNamed(slash < 0 ? before : prefix);
  const { syncRecords, unrecorded } = await readWorkloads(workspace, { type, namespace, labelSelector: undefined });
  const listed = listedWorkloads(syncRecords, { placements: new Map(), registrations: new Map() }, unrecorded);
  if (type === undefined) return listed.map(({ title }) => title);
  return listed.map(({ name }) => (slash < 0 ? name : `${prefix}/${name}`));
}

function typeNamed(word: string): NamedType | undefined {
  try {
    return parseWorkloadType(word);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}
