import { type Fields, isFields, valueAt } from "@tmc/kube/json.ts";
import { compareQuantities, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";
import { changedAt, eachObject, type Texts } from "../../../model/json.ts";
import type { Manifest } from "../../sync-objects.ts";
import { podSpecPath } from "../pod-spec.ts";

const containerLists: ReadonlySet<string> = new Set(["containers", "initContainers", "ephemeralContainers"]);

/** Changes all containers of the pod template, of every container list; a manifest without a pod template is unchanged. */
export function withContainers(manifest: Manifest, change: (container: Fields) => Fields): Manifest {
  const path = podSpecPath(manifest);
  if (path === undefined) return manifest;
  const changePodSpec = (podSpec: unknown): unknown =>
    isFields(podSpec)
      ? Object.fromEntries(
          Object.entries(podSpec).map(([field, value]) => [
            field,
            containerLists.has(field) ? eachObject(value, change) : value,
          ]),
        )
      : podSpec;
  return { ...manifest, spec: changedAt(manifest, path, changePodSpec).spec };
}

/** Sets environment variables of a container: existing ones keep their position, new ones are appended. */
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

/** Sets resource limits of a container. A request above its new limit is lowered to it, because clusters reject it otherwise. */
export function withLimits(container: Fields, limits: Texts): Fields {
  const resources = isFields(container.resources) ? container.resources : {};
  const previousLimits = isFields(resources.limits) ? resources.limits : {};
  const limited: Fields = { ...resources, limits: { ...previousLimits, ...limits } };
  const { requests } = resources;
  if (!isFields(requests)) return { ...container, resources: limited };
  const lowered = Object.entries(requests).map(([resource, request]) => {
    const limit = Object.hasOwn(limits, resource) ? limits[resource] : undefined;
    return [resource, limit !== undefined && isAbove(request, limit) ? limit : request] as const;
  });
  return { ...container, resources: { ...limited, requests: Object.fromEntries(lowered) } };
}

function isAbove(request: unknown, limit: string): boolean {
  return isQuantity(request) && compareQuantities(parseQuantity(request), parseQuantity(limit)) > 0;
}
