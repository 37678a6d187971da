import type { ControllerForm } from "./controller-form.ts";
import type { Tenant } from "./tenant.ts";
import type { World } from "./world.ts";

/** Where the cases run, and how long they may take there. */
export type Setting = Readonly<{ kind: "embedded" | "real"; testMs: number; waitMs: number; startMs: number }>;

/** What a case works with. */
export type Stage = Readonly<{ world: World; tenant: Tenant; form: ControllerForm }>;
