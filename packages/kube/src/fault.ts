/** Why a call failed, in the words the controller acts on. */
export type Fault =
  // may pass: the same call can succeed later
  | "conflict"
  | "throttled"
  | "unreachable"
  // lasts: until something else changes
  | "not-found"
  | "exists"
  | "expired"
  | "unauthorized"
  | "forbidden"
  | "invalid";

/** Tells whether the same call can succeed later without anybody's doing. */
export function mayPass(fault: Fault): boolean {
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
