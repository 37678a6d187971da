import { isQuantity } from "@tmc/kube/quantity.ts";
import { type LabelSelector, satisfiesRequirement, selectorFromObject } from "@tmc/kube/selector.ts";
import { apiVersionOf } from "../../../api/kind.ts";
import type { WorkloadPlacement } from "../../../api/workload-placement.ts";
import { workloadTypes } from "../../../api/workload-types.ts";
import { isFields, type Texts } from "../../../model/json.ts";
import type { Manifest, TargetCluster } from "../../sync-objects.ts";
import { withContainers, withEnv, withLimits } from "./containers.ts";
import { parseHostRule, rewriteImage } from "./images.ts";
import { refuse, withMarks, withPatch } from "./patch.ts";

/**
 * The manifest as one cluster is to have it: the overrides in the order in which they are listed, each on what those before
 * it have made, and within each its parts in the order of `parts`.
 *
 * The manifest that was given stays as it is. Fails with the fault "invalid", naming the override and its part, where one
 * cannot be followed; nothing is then to be written to that cluster.
 */
export function applyOverrides(
  manifest: Manifest,
  overrides: readonly Override[] | undefined,
  cluster: TargetCluster,
): Manifest {
  return (overrides ?? []).reduce<Manifest>((current, override, index) => {
    const where = `overrides[${index}]${override.name === undefined ? "" : ` ${JSON.stringify(override.name)}`}`;
    if (!applies(override, current, cluster, where)) return current;
    return parts.reduce((made, part) => part(made, { override, cluster, where }), current);
  }, manifest);
}

type Scope = Readonly<{ override: Override; cluster: TargetCluster; where: string }>;
type Part = (manifest: Manifest, scope: Scope) => Manifest;

/** The order is part of what users are promised. */
const parts: readonly Part[] = [imageHosts, labels, annotations, env, replicas, limits, patches];

function imageHosts(manifest: Manifest, { override, cluster, where }: Scope): Manifest {
  if (override.imageHosts === undefined) return manifest;
  const rules = override.imageHosts.map(({ from, to }, index) => {
    const at = `${where}: imageHosts[${index}]`;
    const rendered = from === undefined ? undefined : render(from, cluster, at);
    return parseHostRule({ from: rendered, to: render(to, cluster, at) }, at);
  });
  return withContainers(manifest, (container) => {
    const { image } = container;
    // A container without an image is the cluster's to refuse.
    if (typeof image !== "string" || image === "") return container;
    return { ...container, image: rewriteImage(image, rules, `${where}: imageHosts`) };
  });
}

function labels(manifest: Manifest, scope: Scope): Manifest {
  return marks(manifest, scope, "labels");
}

function annotations(manifest: Manifest, scope: Scope): Manifest {
  return marks(manifest, scope, "annotations");
}

function marks(manifest: Manifest, { override, cluster, where }: Scope, part: "labels" | "annotations"): Manifest {
  const given = override[part];
  return given === undefined
    ? manifest
    : withMarks(manifest, part, renderTexts(given, cluster, `${where}: ${part}`), `${where}: ${part}`);
}

function env(manifest: Manifest, { override, cluster, where }: Scope): Manifest {
  if (override.env === undefined) return manifest;
  const variables = renderTexts(override.env, cluster, `${where}: env`);
  return withContainers(manifest, (container) => withEnv(container, variables));
}

const scaledTypes: ReadonlySet<string> = new Set(
  workloadTypes.filter(({ scale }) => scale !== undefined).map((type) => `${apiVersionOf(type)} ${type.kind}`),
);

/** Types that have no replicas are left alone, so that one override can be about a whole application. */
function replicas(manifest: Manifest, { override }: Scope): Manifest {
  const { apiVersion, kind, spec } = manifest;
  if (override.replicas === undefined || !isFields(spec)) return manifest;
  if (!scaledTypes.has(`${apiVersion} ${kind}`) && !Object.hasOwn(spec, "replicas")) return manifest;
  return { ...manifest, spec: { ...spec, replicas: override.replicas } };
}

function limits(manifest: Manifest, { override, cluster, where }: Scope): Manifest {
  if (override.limits === undefined) return manifest;
  const given = renderTexts(override.limits, cluster, `${where}: limits`);
  for (const [resource, limit] of Object.entries(given)) {
    if (!isQuantity(limit)) refuse(`${where}: limits.${resource}`, `${JSON.stringify(limit)} is no quantity`);
  }
  return withContainers(manifest, (container) => withLimits(container, given));
}

function patches(manifest: Manifest, { override, cluster, where }: Scope): Manifest {
  return (override.patches ?? []).reduce<Manifest>((current, { op, path, value }, index) => {
    const at = `${where}: patches[${index}] ${path}`;
    return withPatch(current, { op, path, value: renderAll(value, cluster, at) }, at);
  }, manifest);
}

function renderTexts(texts: Texts, cluster: TargetCluster, where: string): Texts {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, render(text, cluster, `${where}.${name}`)]),
  );
}

/** What a placement says is different on some clusters. */
export type Override = NonNullable<WorkloadPlacement["spec"]["overrides"]>[number];

/** Tells whether an override is about a cluster and a type; every part that is left out means all. */
export function applies(
  { clusterNames, clusterSelector, workloadTypes }: Override,
  { apiVersion, kind }: Pick<Manifest, "apiVersion" | "kind">,
  cluster: TargetCluster,
  where: string,
): boolean {
  if (clusterNames !== undefined && !clusterNames.includes(cluster.name)) return false;
  if (workloadTypes?.some((type) => type.apiVersion === apiVersion && type.kind === kind) === false) return false;
  return (
    clusterSelector === undefined ||
    readSelector(clusterSelector, where).every((each) => satisfiesRequirement(cluster.labels.get(each.key), each))
  );
}

function readSelector(selector: NonNullable<Override["clusterSelector"]>, where: string): LabelSelector {
  try {
    return selectorFromObject(selector);
  } catch (error) {
    return refuse(`${where}: clusterSelector`, error instanceof Error ? error.message : String(error));
  }
}

/**
 * Puts what is known of a cluster in place of `{{cluster.name}}`, `{{cluster.location}}` and `{{cluster.labels.<label>}}`.
 * That is all there is to it: nothing is computed, and what was put in is not looked at again.
 */
export function render(text: string, cluster: TargetCluster, where: string): string {
  let made = "";
  let done = 0;
  // Every character is looked at once: the text is a tenant's, and may be as long as an object can be.
  for (;;) {
    const open = text.indexOf("{{", done);
    const close = open < 0 ? -1 : text.indexOf("}}", open + 2);
    if (close < 0) return made + text.slice(done);
    const variable = text.slice(open + 2, close).trim();
    const fact = factOf(variable, cluster) ?? refuse(where, `cluster ${cluster.name} has no ${quoted(variable)}`);
    made += text.slice(done, open) + fact;
    done = close + 2;
  }
}

/** As much of a text as a message bears. */
const quoted = (text: string): string => JSON.stringify(text.length > 63 ? `${text.slice(0, 63)}…` : text);

/** The same value with every text in it rendered; names of fields stay as they are. */
export function renderAll(value: unknown, cluster: TargetCluster, where: string): unknown {
  if (typeof value === "string") return render(value, cluster, where);
  if (Array.isArray(value)) return value.map((item: unknown) => renderAll(item, cluster, where));
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, renderAll(inner, cluster, where)]));
}

const labelPrefix = "cluster.labels.";

function factOf(variable: string, { name, location, labels }: TargetCluster): string | undefined {
  if (variable === "cluster.name") return name;
  if (variable === "cluster.location") return location;
  return variable.startsWith(labelPrefix) ? labels.get(variable.slice(labelPrefix.length)) : undefined;
}
