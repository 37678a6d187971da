import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { RegistrationStatus } from "./probe-outcome.ts";

/** The state of one APIBinding of the registration's workspace. */
export type ObservedBinding = Readonly<{
  name: string;
  /** Undefined if TMC cannot read it. */
  isBound: boolean | undefined;
  /** Why it is not bound or cannot be read; the same text each time. */
  error?: string | undefined;
}>;

/** Reads APIBindings of one logical cluster by name. */
export type ReadBindings = (
  address: Readonly<{ logicalCluster: string; names: readonly string[] }>,
  signal: AbortSignal,
) => Promise<readonly ObservedBinding[]>;

/** The APIBindings that a registration names in its spec. */
export function bindingNames({ spec }: ClusterRegistration): readonly string[] {
  return (spec.apiBindings ?? []).map(({ name }) => name);
}

/** Builds `status.connectedAPIs`. `connected` is unset for a binding that TMC could not read. */
export function connectedApis(
  names: readonly string[],
  observed: readonly ObservedBinding[],
): NonNullable<RegistrationStatus["connectedAPIs"]> {
  return names.map((apiBinding) => {
    const { isBound, error = "TMC has not read the APIBinding" } =
      observed.find(({ name }) => name === apiBinding) ?? {};
    return {
      apiBinding,
      ...(isBound !== undefined && { connected: isBound }),
      ...(isBound !== true && { error }),
    };
  });
}
