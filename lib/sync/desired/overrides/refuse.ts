import { ControllerError } from "@tmc/kube/fault.ts";

/** Says which part of which override cannot be followed; only a change of the placement helps. */
export function refuse(where: string, why: string): never {
  throw new ControllerError("invalid", `${where}: ${why}`);
}
