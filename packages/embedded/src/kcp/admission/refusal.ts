import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { forbiddenObject } from "../../api-errors.ts";
import type { ApiFailure } from "../../api-failure.ts";
import type { FieldError } from "../../machinery/field-error.ts";

type Named = Readonly<{ group: string; plural: string }>;

/** The 403 by which kcp's own rules refuse an object. */
export const refusal = (type: Named, object: KubeObject, why: string): ApiFailure =>
  forbiddenObject(type, object.metadata.name ?? "", why);

/** The 403 for errors in fields: kcp lists them in brackets, even a single one. */
export const refusalOf = (type: Named, object: KubeObject, errors: readonly FieldError[]): ApiFailure =>
  refusal(type, object, `[${errors.map(formatFieldError).join(", ")}]`);

/** `spec.group: Invalid value: "x": …`. */
export const formatFieldError = ({ field, message }: FieldError): string => `${field}: ${message}`;
