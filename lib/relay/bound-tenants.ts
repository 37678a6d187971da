import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ApiBinding } from "../upstream/kcp-types.ts";
import { clusterAnnotation, clusterOf } from "../upstream/logical-cluster.ts";

/** What bindings say of a logical cluster: it has come, it has gone, or it accepts other claims than before. */
export type RollChange = Readonly<{ kind: "came" | "went" | "claims"; logicalCluster: string }>;

/** The tenants that an endpoint shows, by their bindings to the export. */
export interface TenantRoll {
  takeList(bindings: readonly KubeObject[]): readonly RollChange[];
  take(binding: KubeObject): readonly RollChange[];
  lose(binding: KubeObject): readonly RollChange[];
  has(logicalCluster: string): boolean;
  clusters(): readonly string[];
}

/**
 * Creates a roll that is empty.
 *
 * A tenant comes when one of its bindings is Ready: before that its calls are refused. It goes with its last binding, and no
 * sooner: while a binding is being deleted so are its objects, and our finalizers on them are still ours to take off.
 */
export function createTenantRoll(): TenantRoll {
  /** By logical cluster and by the binding's name, the claims that it accepts. */
  const tenants = new Map<string, Map<string, string>>();

  const take = (binding: KubeObject): readonly RollChange[] => {
    const [logicalCluster, name] = [clusterOf(binding), binding.metadata.name ?? ""];
    const known = tenants.get(logicalCluster);
    const before = known?.get(name);
    if (logicalCluster === "" || (before === undefined && !isReady(binding))) return [];
    const claims = claimsOf(binding);
    if (before === claims) return [];
    tenants.set(logicalCluster, (known ?? new Map<string, string>()).set(name, claims));
    if (known === undefined) return [{ kind: "came", logicalCluster }];
    return [{ kind: "claims", logicalCluster }];
  };
  const drop = (logicalCluster: string, name: string): readonly RollChange[] => {
    const known = tenants.get(logicalCluster);
    if (known?.delete(name) !== true || known.size > 0) return [];
    tenants.delete(logicalCluster);
    return [{ kind: "went", logicalCluster }];
  };

  return {
    take,
    lose: (binding) => drop(clusterOf(binding), binding.metadata.name ?? ""),
    takeList: (bindings) => {
      const listed = new Set(bindings.map((each) => `${clusterOf(each)}/${each.metadata.name ?? ""}`));
      const changes = bindings.flatMap(take);
      const gone = [...tenants].flatMap(([logicalCluster, names]) =>
        [...names.keys()]
          .filter((name) => !listed.has(`${logicalCluster}/${name}`))
          .map((name) => ({ logicalCluster, name })),
      );
      return [...changes, ...gone.flatMap(({ logicalCluster, name }) => drop(logicalCluster, name))];
    },
    has: (logicalCluster) => tenants.has(logicalCluster),
    clusters: () => [...tenants.keys()],
  };
}

function isReady(binding: KubeObject): boolean {
  const { conditions = [] } = (binding as ApiBinding).status ?? {}; // kcp's own schema gives it this form
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** The same text as long as the owner accepts the same, and kcp has put it into force. */
function claimsOf(binding: KubeObject): string {
  const { spec, status } = binding as ApiBinding; // as above
  const applied: unknown =
    status === undefined ? undefined : Object.getOwnPropertyDescriptor(status, "appliedPermissionClaims")?.value;
  return JSON.stringify([spec?.permissionClaims ?? [], applied ?? []]);
}

/** Takes from a binding all that the roll does not look at. */
export function traceOfBinding(binding: KubeObject): KubeObject {
  const { name, resourceVersion } = binding.metadata;
  const { spec, status } = binding as ApiBinding; // as above
  const applied: unknown =
    status === undefined ? undefined : Object.getOwnPropertyDescriptor(status, "appliedPermissionClaims")?.value;
  return {
    apiVersion: binding.apiVersion,
    kind: binding.kind,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      annotations: { [clusterAnnotation]: clusterOf(binding) },
    },
    spec: { permissionClaims: spec?.permissionClaims },
    status: { conditions: status?.conditions, appliedPermissionClaims: applied },
  };
}
