import { ApiError, errorOfResponse, faultOf } from "@tmc/kube/errors.ts";
import type { Fault } from "@tmc/kube/fault.ts";
import type { Status } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import {
  classifyWriteError,
  isNamedNotFound,
  isNamespaceGone,
  isOutcomeUnknown,
} from "../../../lib/downstream/errors.ts";

const answer = (code: number, body: Status | string): ApiError => {
  const isText = typeof body === "string";
  const text = isText ? body : JSON.stringify({ kind: "Status", code, ...body });
  const headers = { "content-type": isText ? "text/plain" : "application/json" };
  return errorOfResponse("cluster east: apply", { status: code, headers, text }, 0);
};

type Row = Readonly<{
  error: unknown;
  fault: Fault | undefined;
  isNamed?: boolean;
  isNamespace?: boolean;
  isUnknown?: boolean;
}>;

// The answers of Kubernetes 1.36.
const rows: Readonly<Record<string, Row>> = {
  "the object does not exist": {
    error: answer(404, { reason: "NotFound", details: { name: "web", kind: "configmaps" } }),
    fault: "not-found",
    isNamed: true,
  },
  "the type does not exist in its group": {
    error: answer(404, {
      reason: "NotFound",
      message: "the server could not find the requested resource",
      details: {},
    }),
    fault: "not-found",
  },
  "the API group does not exist": { error: answer(404, "404 page not found"), fault: "not-found" },
  "the namespace does not exist": {
    error: answer(404, { reason: "NotFound", details: { name: "tmc-shop", kind: "namespaces" } }),
    fault: "unreachable",
    isNamespace: true,
  },
  "the namespace is terminating": {
    error: answer(403, {
      reason: "Forbidden",
      details: { name: "web", kind: "configmaps", causes: [{ reason: "NamespaceTerminating" }] },
    }),
    fault: "unreachable",
    isNamespace: true,
  },
  "a quota is used up": {
    error: answer(403, { reason: "Forbidden", message: "exceeded quota", details: { name: "web", kind: "pods" } }),
    fault: "forbidden",
  },
  "a field is unknown": {
    error: answer(500, {
      message: "failed to create typed patch object (a/b; v1, Kind=C): .spec.x: field not declared",
    }),
    fault: "invalid",
    isUnknown: true,
  },
  "a webhook cannot be reached": {
    error: answer(500, { reason: "InternalError", message: "failed calling webhook" }),
    fault: "unreachable",
    isUnknown: true,
  },
  "another object has the name": {
    error: answer(422, { reason: "Invalid", details: { causes: [{ field: "metadata.uid" }] } }),
    fault: "conflict",
  },
  "a rule is broken": {
    error: answer(422, { reason: "Invalid", details: { causes: [{ field: "spec.selector" }] } }),
    fault: "invalid",
  },
  "the connection was reset": {
    error: new ApiError("unreachable", "connection reset", { network: "reset" }),
    fault: "unreachable",
    isUnknown: true,
  },
  "the error is not an API error": { error: new Error("bug"), fault: undefined, isUnknown: true },
};

describe("the error of a write", () => {
  it.each(Object.entries(rows))("is classified when %s", (_, { error, fault, isNamed, isNamespace, isUnknown }) => {
    expect(faultOf(classifyWriteError(error))).toBe(fault);
    expect(isNamedNotFound(error, "web")).toBe(isNamed === true);
    expect(isNamespaceGone(error)).toBe(isNamespace === true);
    expect(isOutcomeUnknown(error)).toBe(isUnknown === true);
    if (error instanceof Error && classifyWriteError(error) instanceof Error) {
      expect((classifyWriteError(error) as Error).message).toBe(error.message);
    }
  });
});
