import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { PodTemplate, StoredMeta } from "../kinds.ts";
import { controllerReference } from "../kinds.ts";
import type { Draft } from "../world.ts";

/** Creates a controller's pod from a template; the controller's labels override those of the template. */
export function podFromTemplate(
  owner: KubeObject & { metadata: StoredMeta },
  template: PodTemplate,
  own: Readonly<{
    name?: string;
    generateName?: string;
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>>;
    finalizers?: readonly string[];
    spec?: Partial<PodTemplate["spec"]>;
  }> = {},
): Draft {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const allAnnotations = { ...annotations, ...own.annotations };
  const allFinalizers = [...(finalizers ?? []), ...(own.finalizers ?? [])];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...(own.name === undefined ? {} : { name: own.name }),
      generateName: own.generateName ?? `${owner.metadata.name}-`,
      ...(owner.metadata.namespace === undefined ? {} : { namespace: owner.metadata.namespace }),
      labels: { ...labels, ...own.labels },
      ...(Object.keys(allAnnotations).length === 0 ? {} : { annotations: allAnnotations }),
      ...(allFinalizers.length === 0 ? {} : { finalizers: allFinalizers }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: structuredClone({ ...template.spec, ...own.spec }),
  };
}
