import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type ApiFailure, forbiddenObject } from "../../machinery/api-errors.ts";

import type { FieldError } from "../../machinery/field-error.ts";

type Named = Readonly<{ group: string; plural: string }>;

/** The 403 of kcp's own admission plugins. */
export const kcpRejection = (type: Named, object: KubeObject, why: string): ApiFailure =>
  forbiddenObject(type, object.metadata.name ?? "", why);

/** The 403 for field errors; kcp lists them in brackets, even a single one. */
export const fieldRejection = (type: Named, object: KubeObject, errors: readonly FieldError[]): ApiFailure =>
  kcpRejection(type, object, `[${errors.map(formatFieldError).join(", ")}]`);

/** `spec.group: Invalid value: "x": …`. */
export const formatFieldError = ({ field, message }: FieldError): string => `${field}: ${message}`;
