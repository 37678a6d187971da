import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ApiBinding } from "../../upstream/kcp-types.ts";
import { logicalClusterAnnotation, logicalClusterIn } from "../../upstream/logical-cluster.ts";

/** A change of a tenant: it was bound, it was unbound, or it accepts other permission claims than before. */
export type TenantChange = Readonly<{ kind: "bound" | "unbound" | "claims"; logicalCluster: string }>;

/** The tenants of an endpoint, by their bindings to the export. */
export interface BoundTenants {
  applyList(bindings: readonly KubeObject[]): readonly TenantChange[];
  applyBinding(binding: KubeObject): readonly TenantChange[];
  removeBinding(binding: KubeObject): readonly TenantChange[];
  has(logicalCluster: string): boolean;
  tenants(): readonly string[];
}

/**
 * Creates an empty set of tenants.
 *
 * A logical cluster becomes a tenant when one of its bindings is Ready: before that kcp rejects requests for it. It stays a
 * tenant until its last binding is gone: while a binding is being deleted, so are its objects, and TMC has to remove its
 * finalizers from them.
 */
export function createBoundTenants(): BoundTenants {
  /** The accepted permission claims, by logical cluster and name of the binding. */
  const tenants = new Map<string, Map<string, string>>();

  const applyBinding = (binding: KubeObject): readonly TenantChange[] => {
    const [logicalCluster, name] = [logicalClusterIn(binding), binding.metadata.name ?? ""];
    const known = tenants.get(logicalCluster);
    const before = known?.get(name);
    if (logicalCluster === "" || (before === undefined && !isReady(binding))) return [];
    const claims = claimsOf(binding);
    if (before === claims) return [];
    tenants.set(logicalCluster, (known ?? new Map<string, string>()).set(name, claims));
    if (known === undefined) return [{ kind: "bound", logicalCluster }];
    return [{ kind: "claims", logicalCluster }];
  };
  const drop = (logicalCluster: string, name: string): readonly TenantChange[] => {
    const known = tenants.get(logicalCluster);
    if (known?.delete(name) !== true || known.size > 0) return [];
    tenants.delete(logicalCluster);
    return [{ kind: "unbound", logicalCluster }];
  };

  return {
    applyBinding,
    removeBinding: (binding) => drop(logicalClusterIn(binding), binding.metadata.name ?? ""),
    applyList: (bindings) => {
      const listed = new Set(bindings.map((each) => `${logicalClusterIn(each)}/${each.metadata.name ?? ""}`));
      const changes = bindings.flatMap(applyBinding);
      const gone = [...tenants].flatMap(([logicalCluster, names]) =>
        [...names.keys()]
          .filter((name) => !listed.has(`${logicalCluster}/${name}`))
          .map((name) => ({ logicalCluster, name })),
      );
      return [...changes, ...gone.flatMap(({ logicalCluster, name }) => drop(logicalCluster, name))];
    },
    has: (logicalCluster) => tenants.has(logicalCluster),
    tenants: () => [...tenants.keys()],
  };
}

function isReady(binding: KubeObject): boolean {
  const { conditions = [] } = (binding as ApiBinding).status ?? {}; // kcp's own schema gives it this form
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** A text that changes when the tenant accepts other permission claims, or when kcp has applied them. */
function claimsOf(binding: KubeObject): string {
  const { spec, status } = binding as ApiBinding; // as above
  const applied: unknown =
    status === undefined ? undefined : Object.getOwnPropertyDescriptor(status, "appliedPermissionClaims")?.value;
  return JSON.stringify([spec?.permissionClaims ?? [], applied ?? []]);
}

/** Keeps only the fields of a binding that `BoundTenants` reads. */
export function projectBinding(binding: KubeObject): KubeObject {
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
      annotations: { [logicalClusterAnnotation]: logicalClusterIn(binding) },
    },
    spec: { permissionClaims: spec?.permissionClaims },
    status: { conditions: status?.conditions, appliedPermissionClaims: applied },
  };
}
