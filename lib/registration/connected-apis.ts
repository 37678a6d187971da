import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { RegistrationStatus } from "./probe-outcome.ts";

/** What was seen of one of the workspace's APIBindings. */
export type SeenBinding = Readonly<{
  name: string;
  /** Undefined where it cannot be seen. */
  isBound: boolean | undefined;
  /** Why it is not bound, or not seen; the same each time. */
  why?: string | undefined;
}>;

/** Looks at APIBindings of one logical cluster, by their names. */
export type ReadBindings = (
  address: Readonly<{ logicalCluster: string; names: readonly string[] }>,
  signal: AbortSignal,
) => Promise<readonly SeenBinding[]>;

/** The names of the bindings that a registration asks for. */
export function bindingNames({ spec }: ClusterRegistration): readonly string[] {
  return (spec.apiBindings ?? []).map(({ name }) => name);
}

/** Mirrors what a registration asks for; what was not seen is not said to be connected, nor not to be. */
export function connectedApis(
  names: readonly string[],
  seen: readonly SeenBinding[],
): NonNullable<RegistrationStatus["connectedAPIs"]> {
  return names.map((apiBinding) => {
    const { isBound, why } = seen.find(({ name }) => name === apiBinding) ?? {};
    const error = isBound === true ? undefined : (why ?? "nobody has looked");
    return {
      apiBinding,
      ...(isBound !== undefined && { connected: isBound }),
      ...(error !== undefined && { error }),
    };
  });
}
