import { compareQuantities, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";
import { changedAt, eachObject, type Fields, isFields, type Texts, valueAt } from "../../../model/json.ts";
import type { Manifest } from "../../sync-objects.ts";
import { podSpecPath } from "../pod-spec.ts";

const containerLists: ReadonlySet<string> = new Set(["containers", "initContainers", "ephemeralContainers"]);

/** The manifest with all containers of its pods changed, whatever kind they are; as it is where it makes no pods. */
export function withContainers(manifest: Manifest, change: (container: Fields) => Fields): Manifest {
  const path = podSpecPath(manifest);
  if (path === undefined) return manifest;
  const changePods = (pods: unknown): unknown =>
    isFields(pods)
      ? Object.fromEntries(
          Object.entries(pods).map(([field, value]) => [
            field,
            containerLists.has(field) ? eachObject(value, change) : value,
          ]),
        )
      : pods;
  return { ...manifest, spec: changedAt(manifest, path, changePods).spec };
}

/** The container with variables set: in their place where it has them, otherwise after all others. */
export function withEnv(container: Fields, variables: Texts): Fields {
  const env: readonly unknown[] = Array.isArray(container.env) ? container.env : [];
  const nameOf = (entry: unknown) => valueAt(entry, "name");
  const changed = env.map((entry) => {
    const name = nameOf(entry);
    return typeof name === "string" && Object.hasOwn(variables, name) ? { name, value: variables[name] } : entry;
  });
  const added = Object.keys(variables)
    .filter((name) => !env.some((entry) => nameOf(entry) === name))
    .toSorted()
    .map((name) => ({ name, value: variables[name] }));
  return { ...container, env: [...changed, ...added] };
}

/** The container with limits set. A request above its new limit comes down to it: clusters refuse it otherwise. */
export function withLimits(container: Fields, limits: Texts): Fields {
  const resources = isFields(container.resources) ? container.resources : {};
  const before = isFields(resources.limits) ? resources.limits : {};
  const withLimit: Fields = { ...resources, limits: { ...before, ...limits } };
  const { requests } = resources;
  if (!isFields(requests)) return { ...container, resources: withLimit };
  const lowered = Object.entries(requests).map(([resource, request]) => {
    const limit = Object.hasOwn(limits, resource) ? limits[resource] : undefined;
    return [resource, limit !== undefined && isAbove(request, limit) ? limit : request] as const;
  });
  return { ...container, resources: { ...withLimit, requests: Object.fromEntries(lowered) } };
}

function isAbove(request: unknown, limit: string): boolean {
  return isQuantity(request) && compareQuantities(parseQuantity(request), parseQuantity(limit)) > 0;
}
