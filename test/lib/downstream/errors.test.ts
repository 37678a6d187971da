import { ApiError, errorOfAnswer, faultOf } from "@tmc/kube/errors.ts";
import type { Fault } from "@tmc/kube/fault.ts";
import type { Status } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { isNamedNotFound, isNamespaceGone, isOutcomeUnknown, refusalOf } from "../../../lib/downstream/errors.ts";

const answer = (code: number, body: Status | string): ApiError => {
  const isText = typeof body === "string";
  const text = isText ? body : JSON.stringify({ kind: "Status", code, ...body });
  const headers = { "content-type": isText ? "text/plain" : "application/json" };
  return errorOfAnswer("cluster east: apply", { status: code, headers, text }, 0);
};

type Row = Readonly<{
  error: unknown;
  fault: Fault | undefined;
  isNamed?: boolean;
  isNamespace?: boolean;
  isUnknown?: boolean;
}>;

// As a Kubernetes 1.36 answers.
const rows: Readonly<Record<string, Row>> = {
  "there is no such object": {
    error: answer(404, { reason: "NotFound", details: { name: "web", kind: "configmaps" } }),
    fault: "not-found",
    isNamed: true,
  },
  "there is no such type in a group": {
    error: answer(404, {
      reason: "NotFound",
      message: "the server could not find the requested resource",
      details: {},
    }),
    fault: "not-found",
  },
  "there is no such group": { error: answer(404, "404 page not found"), fault: "not-found" },
  "there is no such namespace": {
    error: answer(404, { reason: "NotFound", details: { name: "tmc-shop", kind: "namespaces" } }),
    fault: "unreachable",
    isNamespace: true,
  },
  "the namespace is being removed": {
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
  "a field is not known": {
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
  "nobody answered": {
    error: new ApiError("unreachable", "connection reset", { network: "reset" }),
    fault: "unreachable",
    isUnknown: true,
  },
  "something else went wrong": { error: new Error("bug"), fault: undefined, isUnknown: true },
};

describe("what a cluster refuses", () => {
  it.each(Object.entries(rows))("%s", (_, { error, fault, isNamed, isNamespace, isUnknown }) => {
    expect(faultOf(refusalOf(error))).toBe(fault);
    expect(isNamedNotFound(error, "web")).toBe(isNamed === true);
    expect(isNamespaceGone(error)).toBe(isNamespace === true);
    expect(isOutcomeUnknown(error)).toBe(isUnknown === true);
    if (error instanceof Error && refusalOf(error) instanceof Error) {
      expect((refusalOf(error) as Error).message).toBe(error.message);
    }
  });
});
