import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { sortedJson } from "./sorted-json.ts";

type Override = NonNullable<WorkloadPlacement["spec"]["overrides"]>[number];
type Fields = Readonly<Record<string, unknown>>;

/**
 * What a cluster must have of a workload, by the overrides that the feature `overrides` makes. Written a second time, and
 * simpler than in the product, so that a fault there is noticed.
 */
export function expectedOn(
  workload: KubeObject,
  overrides: readonly Override[],
  { metadata, spec }: Pick<ClusterRegistration, "metadata" | "spec">,
): KubeObject {
  const name = metadata.name ?? "";
  const { labels = {} } = metadata;
  const applies = ({ clusterNames, clusterSelector, workloadTypes }: Override): boolean =>
    clusterNames?.includes(name) !== false &&
    Object.entries(clusterSelector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    workloadTypes?.some(({ kind }) => kind === workload.kind) !== false;
  const render = (texts: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [
        key,
        text.replace("{{cluster.name}}", name).replace("{{cluster.location}}", spec.location),
      ]),
    );
  const changedBy = (object: KubeObject, override: Override): KubeObject => {
    const { imageHosts = [], env, replicas, limits, patches = [] } = override;
    const patched = patches.map(({ path, value }) => [path.split("/").at(-1) ?? "", String(value)]);
    const changed = {
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata.labels, ...render(override.labels), ...Object.fromEntries(patched) },
        annotations: { ...object.metadata.annotations, ...render(override.annotations) },
      },
    };
    if (object.kind !== "Deployment") return changed;
    const containers = containersOf(object).map((container) => ({
      ...container,
      image: imageHosts.reduce((image, { to }) => image.replace(/^[^/]+/, to), String(container.image)),
      ...(env !== undefined && { env: withVariables(container.env, render(env)) }),
      ...(limits !== undefined && { resources: { limits: { ...limitsOf(container), ...limits } } }),
    }));
    return withContainers(changed, containers, replicas);
  };
  let expected = workload;
  for (const override of overrides.filter(applies)) expected = changedBy(expected, override);
  return expected;
}

/** What of a workload overrides change, in a form that can be compared: the rest is compared as for every other workload. */
export function overriddenPartsOf(object: KubeObject): string {
  const { labels = {}, annotations = {} } = object.metadata;
  const containers = containersOf(object).map(({ image, env, ...container }) => ({
    image,
    env: withVariables(env, {}),
    limits: limitsOf(container),
  }));
  const { flavour, patched } = labels;
  return sortedJson({ flavour, patched, site: annotations["example.com/site"], containers });
}

function containersOf({ spec }: KubeObject): readonly Fields[] {
  const { template } = (spec ?? {}) as Readonly<{
    template?: Readonly<{ spec?: Readonly<{ containers?: Fields[] }> }>;
  }>;
  return template?.spec?.containers ?? [];
}

function limitsOf({ resources }: Fields): Fields {
  const { limits = {} } = (resources ?? {}) as Readonly<{ limits?: Fields }>;
  return limits;
}

/** Variables by name, because their order means nothing here. */
function withVariables(env: unknown, added: Readonly<Record<string, string>>): readonly Fields[] {
  const known = (env ?? []) as readonly Readonly<{ name: string; value?: string }>[];
  const all = new Map(known.map(({ name, value }) => [name, value]));
  for (const [name, value] of Object.entries(added)) all.set(name, value);
  return [...all].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, value]) => ({ name, value }));
}

function withContainers(object: KubeObject, containers: readonly Fields[], replicas: number | undefined): KubeObject {
  const spec = (object.spec ?? {}) as Readonly<{ template?: Readonly<{ spec?: Fields }> }> & Fields;
  const template = { ...spec.template, spec: { ...spec.template?.spec, containers } };
  return { ...object, spec: { ...spec, template, ...(replicas !== undefined && { replicas }) } };
}
