import type { Status } from "@tmc/kube/kube-object.ts";

/** A request that fails, with the Status the client is to see. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: Status & { code: number };
  /** Sent as header too, where set. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: number, reason: string, message: string, details?: Status["details"]) {
    super(message);
    this.retryAfterSeconds = details?.retryAfterSeconds;
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      ...(reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}
