import { ControllerError } from "@tmc/kube/fault.ts";

/**
 * A logical cluster that has no binding to the export, or none any more. Nothing is known about its objects by that: not
 * seen is not gone. Whoever works for it stops, and begins again when it is bound again.
 */
export class TenantNotBound extends ControllerError {
  constructor(logicalCluster: string, options?: ErrorOptions) {
    super("not-found", `logical cluster ${logicalCluster}: has no binding to the export`, options);
  }
}

/** The tenant's binding does not accept the claim by which the export asks for a type. */
export class ClaimNotAccepted extends ControllerError {
  /** The type as claims name it: `secrets`. */
  readonly resource: string;

  constructor(logicalCluster: string, resource: string, options?: ErrorOptions) {
    super(
      "forbidden",
      `logical cluster ${logicalCluster}: its binding does not accept the claim on ${resource}`,
      options,
    );
    this.resource = resource;
  }
}
