import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { formatType } from "@tmc/kube/paths.ts";

type Asked = Pick<KubeClient, "raw" | "server">;

/**
 * Asks a cluster's discovery whether it serves a type.
 *
 * Any web server answers 404 to what it does not know, a proxy in front of a cluster too, and that says nothing about what the
 * cluster has. Only an API server that lists its types without this one says that there can be no objects of it; anything
 * else fails with "unreachable".
 */
export async function isServed(client: Asked, type: ResourceType, signal: AbortSignal): Promise<boolean> {
  const { group, version, plural } = type;
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const resources = await listAt(client, { path, kind: "APIResourceList", field: "resources" }, signal);
  if (resources !== undefined) return resources.some((each) => fieldOf(each, "name") === plural);
  const groups = await listAt(client, { path: "/apis", kind: "APIGroupList", field: "groups" }, signal);
  const versions = fieldOf(
    groups?.find((each) => fieldOf(each, "name") === group),
    "versions",
  );
  const isListed = Array.isArray(versions) && versions.some((each: unknown) => fieldOf(each, "version") === version);
  if (groups !== undefined && group !== "" && !isListed) return false;
  const message = `${client.server}: ${formatType(type)}: nothing there says which types are served`;
  throw new ControllerError("unreachable", message);
}

async function listAt(
  client: Asked,
  { path, kind, field }: Readonly<{ path: string; kind: string; field: string }>,
  signal: AbortSignal,
): Promise<readonly unknown[] | undefined> {
  const { status, text } = await client.raw("GET", path, { signal });
  const body = status === 200 ? parsed(text) : undefined;
  const list = fieldOf(body, field);
  return fieldOf(body, "kind") === kind && Array.isArray(list) ? list : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no list of anything
  }
}
