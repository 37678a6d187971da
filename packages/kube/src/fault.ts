/** Why a call failed. A fault exists only if the controller acts differently on it. */
export type Fault =
  // transient: the same call can succeed later
  | "conflict"
  | "throttled"
  | "unreachable"
  // permanent: until something else changes
  | "not-found"
  | "exists"
  | "expired"
  | "unauthorized"
  | "forbidden"
  | "invalid";

/** Returns whether the same call can succeed later without another change. */
export function isTransientFault(fault: Fault): boolean {
  return fault === "conflict" || fault === "throttled" || fault === "unreachable";
}

export class ControllerError extends Error {
  override readonly name = "ControllerError";
  readonly fault: Fault;

  constructor(fault: Fault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
