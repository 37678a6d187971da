import { isFields } from "@tmc/kube/json.ts";
import { isQuantity } from "@tmc/kube/quantity.ts";
import { type LabelSelector, satisfiesRequirement, selectorFromObject } from "@tmc/kube/selector.ts";
import { formatApiVersion } from "../../../api/kind.ts";
import type { WorkloadPlacement } from "../../../api/workload-placement.ts";
import { workloadTypes } from "../../../api/workload-types.ts";
import type { Texts } from "../../../model/json.ts";
import type { Manifest, TargetCluster } from "../../sync-objects.ts";
import { withContainers, withEnv, withLimits } from "./containers.ts";
import { parseHostRule, rewriteImage } from "./images.ts";
import { rejectOverride, withMetadata, withPatch } from "./patch.ts";

/**
 * Applies the overrides of a placement to the manifest for one cluster: in their listed order, each on the result of those
 * before it, and within each override its parts in the order of `parts`.
 *
 * The given manifest is not modified. Fails with the fault "invalid", naming the override and its part, if one cannot be
 * applied; nothing must be written to that cluster then.
 */
export function applyOverrides(
  manifest: Manifest,
  overrides: readonly Override[] | undefined,
  targetCluster: TargetCluster,
): Manifest {
  return (overrides ?? []).reduce<Manifest>((current, override, index) => {
    const location = `overrides[${index}]${override.name === undefined ? "" : ` ${JSON.stringify(override.name)}`}`;
    if (!isApplicable(override, current, targetCluster, location)) return current;
    return parts.reduce((result, part) => part(result, { override, targetCluster, location }), current);
  }, manifest);
}

/** `location` names the override in error messages. */
type OverrideContext = Readonly<{ override: Override; targetCluster: TargetCluster; location: string }>;
type Part = (manifest: Manifest, context: OverrideContext) => Manifest;

/** The order is documented and must not change. */
const parts: readonly Part[] = [imageHosts, labels, annotations, env, replicas, limits, patches];

function imageHosts(manifest: Manifest, { override, targetCluster, location }: OverrideContext): Manifest {
  if (override.imageHosts === undefined) return manifest;
  const rules = override.imageHosts.map(({ from, to }, index) => {
    const at = `${location}: imageHosts[${index}]`;
    const rendered = from === undefined ? undefined : render(from, targetCluster, at);
    return parseHostRule({ from: rendered, to: render(to, targetCluster, at) }, at);
  });
  return withContainers(manifest, (container) => {
    const { image } = container;
    // The cluster rejects a container without an image.
    if (typeof image !== "string" || image === "") return container;
    return { ...container, image: rewriteImage(image, rules, `${location}: imageHosts`) };
  });
}

function labels(manifest: Manifest, context: OverrideContext): Manifest {
  return overrideMetadata(manifest, context, "labels");
}

function annotations(manifest: Manifest, context: OverrideContext): Manifest {
  return overrideMetadata(manifest, context, "annotations");
}

function overrideMetadata(
  manifest: Manifest,
  { override, targetCluster, location }: OverrideContext,
  part: "labels" | "annotations",
): Manifest {
  const given = override[part];
  const at = `${location}: ${part}`;
  return given === undefined ? manifest : withMetadata(manifest, part, renderTexts(given, targetCluster, at), at);
}

function env(manifest: Manifest, { override, targetCluster, location }: OverrideContext): Manifest {
  if (override.env === undefined) return manifest;
  const variables = renderTexts(override.env, targetCluster, `${location}: env`);
  return withContainers(manifest, (container) => withEnv(container, variables));
}

const scaledTypes: ReadonlySet<string> = new Set(
  workloadTypes.filter(({ scale }) => scale !== undefined).map((type) => `${formatApiVersion(type)} ${type.kind}`),
);

/** Types without replicas are skipped, so that one override can apply to a whole application. */
function replicas(manifest: Manifest, { override }: OverrideContext): Manifest {
  const { apiVersion, kind, spec } = manifest;
  if (override.replicas === undefined || !isFields(spec)) return manifest;
  if (!scaledTypes.has(`${apiVersion} ${kind}`) && !Object.hasOwn(spec, "replicas")) return manifest;
  return { ...manifest, spec: { ...spec, replicas: override.replicas } };
}

function limits(manifest: Manifest, { override, targetCluster, location }: OverrideContext): Manifest {
  if (override.limits === undefined) return manifest;
  const rendered = renderTexts(override.limits, targetCluster, `${location}: limits`);
  for (const [resource, limit] of Object.entries(rendered)) {
    if (!isQuantity(limit))
      rejectOverride(`${location}: limits.${resource}`, `${JSON.stringify(limit)} is not a quantity`);
  }
  return withContainers(manifest, (container) => withLimits(container, rendered));
}

function patches(manifest: Manifest, { override, targetCluster, location }: OverrideContext): Manifest {
  return (override.patches ?? []).reduce<Manifest>((current, { op, path, value }, index) => {
    const at = `${location}: patches[${index}] ${path}`;
    return withPatch(current, { op, path, value: renderAll(value, targetCluster, at) }, at);
  }, manifest);
}

function renderTexts(texts: Texts, targetCluster: TargetCluster, location: string): Texts {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, render(text, targetCluster, `${location}.${name}`)]),
  );
}

/** One entry of `spec.overrides` of a placement. */
export type Override = NonNullable<WorkloadPlacement["spec"]["overrides"]>[number];

/** Whether an override applies to a cluster and a type; an omitted criterion matches everything. */
function isApplicable(
  { clusterNames, clusterSelector, workloadTypes: types }: Override,
  { apiVersion, kind }: Pick<Manifest, "apiVersion" | "kind">,
  targetCluster: TargetCluster,
  location: string,
): boolean {
  if (clusterNames !== undefined && !clusterNames.includes(targetCluster.name)) return false;
  if (types?.some((type) => type.apiVersion === apiVersion && type.kind === kind) === false) return false;
  return (
    clusterSelector === undefined ||
    parseClusterSelector(clusterSelector, location).every((requirement) =>
      satisfiesRequirement(targetCluster.labels.get(requirement.key), requirement),
    )
  );
}

function parseClusterSelector(selector: NonNullable<Override["clusterSelector"]>, location: string): LabelSelector {
  try {
    return selectorFromObject(selector);
  } catch (error) {
    return rejectOverride(`${location}: clusterSelector`, error instanceof Error ? error.message : String(error));
  }
}

/**
 * Replaces `{{cluster.name}}`, `{{cluster.location}}` and `{{cluster.labels.<label>}}` with the cluster's values. Nothing else
 * is evaluated, and inserted values are not rendered again.
 */
function render(text: string, targetCluster: TargetCluster, location: string): string {
  let rendered = "";
  let position = 0;
  // Linear time: a tenant writes the text, which may be as long as an object can be.
  for (;;) {
    const open = text.indexOf("{{", position);
    const close = open < 0 ? -1 : text.indexOf("}}", open + 2);
    if (close < 0) return rendered + text.slice(position);
    const variable = text.slice(open + 2, close).trim();
    const value =
      variableValue(variable, targetCluster) ??
      rejectOverride(location, `cluster ${targetCluster.name} has no ${quoteClipped(variable)}`);
    rendered += text.slice(position, open) + value;
    position = close + 2;
  }
}

const quoteClipped = (text: string): string => JSON.stringify(text.length > 63 ? `${text.slice(0, 63)}…` : text);

/** Renders every string in a value; field names are not rendered. */
function renderAll(value: unknown, targetCluster: TargetCluster, location: string): unknown {
  if (typeof value === "string") return render(value, targetCluster, location);
  if (Array.isArray(value)) return value.map((item: unknown) => renderAll(item, targetCluster, location));
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, renderAll(inner, targetCluster, location)]),
  );
}

const labelPrefix = "cluster.labels.";

function variableValue(variable: string, { name, location, labels: clusterLabels }: TargetCluster): string | undefined {
  if (variable === "cluster.name") return name;
  if (variable === "cluster.location") return location;
  return variable.startsWith(labelPrefix) ? clusterLabels.get(variable.slice(labelPrefix.length)) : undefined;
}
