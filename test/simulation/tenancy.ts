import { faultOf } from "@tmc/kube/errors.ts";
import { apiBinding } from "../../lib/api/api-export.ts";
import { bindingName, exportWorkspace } from "../../lib/api/group.ts";
import { type ApiBinding, apiBindings } from "../../lib/upstream/kcp-types.ts";
import type { SimulationEnvironment } from "./environment.ts";
import type { Step } from "./scenario.ts";
import type { Seeded } from "./seeded.ts";
import { tenantPaths } from "./servers.ts";
import type { User } from "./user.ts";

/** A tenant deletes its APIBinding, and with it all objects of TMC's resources, or creates it again. */
export type TenancyInput = Readonly<{ kind: "unbind" | "bind"; tenant: number }>;

/** Unbinds and binds the administrators of the tenants. */
export interface Tenancy {
  apply(input: TenancyInput): void;
  /** Bindings that are not bound again yet. */
  readonly open: number;
}

const retryMs = 2_000;

/** The steps of a scenario for all tenants of an export: some tenants leave for a time, and come back before the end. */
export function tenancySteps(seeded: Seeded, endMs: number): readonly Step[] {
  return tenantPaths.flatMap((_, tenant): Step[] => {
    if (!seeded.chance(0.35)) return [];
    const atMs = Math.floor(seeded.next() * endMs);
    const backMs = Math.floor(atMs + seeded.next() * (endMs - atMs));
    return [
      { atMs, input: { kind: "unbind", tenant } },
      { atMs: backMs, input: { kind: "bind", tenant } },
    ];
  });
}

/** Creates the administrators of a run. What a user wants is applied again when the tenant is bound again. */
export function createTenancy(
  { servers, monitor, log, fail }: SimulationEnvironment,
  user: Pick<User, "reapply">,
): Tenancy {
  const address = { type: apiBindings, name: bindingName };
  const open = new Set<number>();

  const unbind = async (tenant: number): Promise<void> => {
    monitor.mayGoAll(servers.tenants[tenant] ?? "", true);
    await servers.users[tenant]?.delete(address);
  };
  /** Creates the binding when the earlier one has gone, and waits until it is bound. */
  const bind = async (tenant: number): Promise<void> => {
    const client = servers.users[tenant];
    const present = await client?.get<ApiBinding>(address).catch((error: unknown) => {
      if (faultOf(error) !== "not-found") throw error;
    });
    if (present === undefined) await client?.create({ type: apiBindings }, apiBinding({ path: exportWorkspace }));
    else if (present.metadata.deletionTimestamp === undefined && present.status?.phase === "Bound") {
      log(`tenant ${tenant} is bound again`);
      open.delete(tenant);
      monitor.mayGoAll(servers.tenants[tenant] ?? "", false);
      user.reapply(tenant);
      return;
    }
    servers.clock.after(retryMs, () => attempt(bind, tenant));
  };
  const attempt = (act: typeof bind, tenant: number): void => {
    act(tenant).catch((error: unknown) => fail("a tenant cannot bind or unbind", error));
  };

  return {
    apply: (input) => {
      log(`tenancy ${JSON.stringify(input)}`);
      if (input.kind === "bind") open.add(input.tenant);
      attempt(input.kind === "bind" ? bind : unbind, input.tenant);
    },
    get open() {
      return open.size;
    },
  };
}
