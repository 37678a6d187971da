import { isQuantity } from "@tmc/kube/quantity.ts";
import { apiVersionOf } from "../../../api/kind.ts";
import { workloadTypes } from "../../../api/workload-types.ts";
import { isFields, type Texts } from "../../../model/json-fields.ts";
import type { Manifest, SyncCluster } from "../../sync-objects.ts";
import { applies, type Override } from "./applies.ts";
import { withContainers, withEnv, withLimits } from "./containers.ts";
import { parseHostRule, rewriteImage } from "./image-hosts.ts";
import { withMarks } from "./marks.ts";
import { withPatch } from "./patch.ts";
import { refuse } from "./refuse.ts";
import { render, renderAll } from "./template.ts";

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
  cluster: SyncCluster,
): Manifest {
  return (overrides ?? []).reduce<Manifest>((current, override, index) => {
    const where = `overrides[${index}]${override.name === undefined ? "" : ` ${JSON.stringify(override.name)}`}`;
    if (!applies(override, current, cluster, where)) return current;
    return parts.reduce((made, part) => part(made, { override, cluster, where }), current);
  }, manifest);
}

type Scope = Readonly<{ override: Override; cluster: SyncCluster; where: string }>;
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

function renderTexts(texts: Texts, cluster: SyncCluster, where: string): Texts {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, render(text, cluster, `${where}.${name}`)]),
  );
}
