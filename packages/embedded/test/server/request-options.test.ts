import { describe } from "vitest";
import { itRejects, type Rejection } from "../support/rejections.ts";
import { aConfigMap } from "../support/test-core.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const things = "/apis/ex.io/v1/namespaces/default/widgets";

const refusals: Record<string, Rejection> = {
  "a label selector that cannot be read is 400": {
    call: ["GET", `${maps}?labelSelector=a%3D%3D%3Db`],
    code: 400,
    message: "unable to parse requirement: found '=', expected: identifier",
  },
  "an unknown field selector of a built-in type is 400": {
    call: ["GET", `${maps}?fieldSelector=spec.foo%3Dx`],
    code: 400,
    message: '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
  },
  "an unknown field selector of a custom type is 400": {
    call: ["GET", `${things}?fieldSelector=a%3Db`],
    code: 400,
    message: "field label not supported: a",
  },
  "a limit that is no number is 400": {
    call: ["GET", `${maps}?limit=x`],
    code: 400,
    message: 'strconv.ParseInt: parsing "x": invalid syntax',
  },
  "a continue token of our own making is 400": {
    call: ["GET", `${maps}?continue=abc`],
    code: 400,
    message: "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
  },
  "a list of a malformed resourceVersion is 400": {
    call: ["GET", `${maps}?resourceVersion=abc`],
    code: 400,
    message:
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
  },
  "a match without a resourceVersion is 422": {
    call: ["GET", `${maps}?resourceVersionMatch=Exact`],
    code: 422,
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
  },
  "a resourceVersion that is still to come is 504": {
    call: ["GET", `${maps}?resourceVersion=999999`],
    code: 504,
    reason: "Timeout",
    message: "Timeout: Too large resource version: 999999, current: 1",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  },
  "initial events are for watches only": {
    call: ["GET", `${maps}?sendInitialEvents=true`],
    code: 422,
    message:
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
  },
  "initial events need a match": {
    call: ["GET", `${maps}?watch=1&sendInitialEvents=true`],
    code: 422,
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
  },
  "a form that nobody can show is 406": {
    call: ["GET", maps, { accept: "text/html" }],
    code: 406,
    reason: "NotAcceptable",
    message:
      "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
  },
  "a body of more than 3 MiB is 413": {
    call: ["POST", maps, { body: aConfigMap("x", { data: { a: "x".repeat(3 * 1024 * 1024) } }) }],
    code: 413,
    reason: "RequestEntityTooLarge",
    message: "Request entity too large: limit is 3145728",
  },
};

describe("a rejected list, watch or media type has the message of a real server", () => {
  itRejects(refusals);
});
