import { ControllerError } from "@tmc/kube/fault.ts";

/**
 * The logical cluster has no APIBinding to the export, or no longer has one. This says nothing about its objects: not seen
 * is not gone. Work for the tenant stops and resumes when it binds the export again.
 */
export class TenantNotBound extends ControllerError {
  constructor(logicalCluster: string, options?: ErrorOptions) {
    super("not-found", `logical cluster ${logicalCluster}: no APIBinding to the export`, options);
  }
}

/** The tenant's APIBinding does not accept the export's permission claim on a resource. */
export class ClaimNotAccepted extends ControllerError {
  /** The plural name, as in the claim: `secrets`. */
  readonly resource: string;

  constructor(logicalCluster: string, resource: string, options?: ErrorOptions) {
    super(
      "forbidden",
      `logical cluster ${logicalCluster}: the APIBinding does not accept the permission claim on ${resource}`,
      options,
    );
    this.resource = resource;
  }
}
