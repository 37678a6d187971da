import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { PageRequest, WorkspaceLister, WorkspacePage } from "../../lib/lambda/workspaces.ts";

export type FakeListerOptions = Readonly<{
  sources: readonly string[];
  /** The number of objects of a type at a source, by plural. */
  count: (source: string, plural: string) => number;
  /** The object with this number. */
  object: (source: string, plural: string, index: number) => KubeObject;
  /** @default one logical cluster per source, with its name */
  logicalClusterOf?: (source: string, index: number) => string;
  pageSize?: number;
  /** Called before each page; an error it throws fails the page. */
  beforePage?: (source: string, request: PageRequest) => Promise<void> | void;
}>;

/** Creates a lister over generated objects, of which only one page exists at a time. A token is the number of the next object. */
export function createFakeLister(options: FakeListerOptions): Pick<WorkspaceLister, "sources" | "page"> {
  const { sources, count, object, pageSize = 500, logicalClusterOf = (source) => source } = options;
  return {
    sources: async () => sources,
    page: async (source, request): Promise<WorkspacePage> => {
      await options.beforePage?.(source, request);
      const { plural } = request.type;
      const start = Number(request.token ?? 0);
      const end = Math.min(start + pageSize, count(source, plural));
      const byCluster = new Map<string, KubeObject[]>();
      for (let index = start; index < end; index++) {
        const logicalCluster = logicalClusterOf(source, index);
        byCluster.set(logicalCluster, [...(byCluster.get(logicalCluster) ?? []), object(source, plural, index)]);
      }
      return {
        found: [...byCluster].map(([logicalCluster, objects]) => ({ logicalCluster, objects })),
        token: end < count(source, plural) ? String(end) : undefined,
      };
    },
  };
}

/** An object of each type that a resync lists: placements select Deployments, and each Deployment has a sync record. */
export function resyncObject(plural: string, index: number): KubeObject {
  const name = `web-${index}`;
  if (plural === "workloadplacements")
    return anObject(name, {
      spec: { workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] } },
    });
  if (plural === "workloadsyncs")
    return anObject(name, { spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name } } });
  return anObject(name, { spec: {} });
}

function anObject(name: string, more: object): KubeObject {
  return { apiVersion: "v1", kind: "Any", metadata: { name, namespace: "shop" }, ...more };
}
