import { expect, it } from "vitest";
import { parseRequestInfo } from "../../src/server/request-info.ts";

const cases: Record<string, readonly [method: string, url: string, expected: object]> = {
  "a core object": [
    "GET",
    "/api/v1/namespaces/n/pods/p",
    { verb: "get", group: "", version: "v1", resource: "pods", namespace: "n", name: "p", subresource: "" },
  ],
  "a subresource": [
    "PUT",
    "/apis/apps/v1/namespaces/n/deployments/d/scale",
    { verb: "update", group: "apps", resource: "deployments", name: "d", subresource: "scale" },
  ],
  "a list": ["GET", "/apis/apps/v1/deployments", { verb: "list", resource: "deployments", namespace: "", name: "" }],
  "a watch": ["GET", "/api/v1/pods?watch=true", { verb: "watch" }],
  "a watch in the old form": [
    "GET",
    "/api/v1/watch/namespaces/n/pods",
    { verb: "watch", namespace: "n", resource: "pods" },
  ],
  "a list that says it is no watch": ["GET", "/api/v1/pods?watch=false", { verb: "list" }],
  "a whole collection": ["DELETE", "/api/v1/namespaces/n/pods", { verb: "deletecollection" }],
  "a namespace itself": ["GET", "/api/v1/namespaces/n", { resource: "namespaces", namespace: "n", name: "n" }],
  "a namespace's status": [
    "PATCH",
    "/api/v1/namespaces/n/status",
    { verb: "patch", resource: "namespaces", name: "n", subresource: "status" },
  ],
  "what is too deep for anything": ["GET", "/api/v1/namespaces/n/pods/p/a/b", { tooDeep: true }],
  "a group": ["GET", "/apis/apps/v1", { isResource: false, verb: "get", path: "/apis/apps/v1" }],
  "any other path": ["POST", "/foo/bar", { isResource: false, verb: "post", path: "/foo/bar" }],
};

for (const [name, [method, url, expected]] of Object.entries(cases)) {
  it(`parses ${name}`, () => {
    const [path = "", query] = url.split("?");
    expect(parseRequestInfo(method, path, new URLSearchParams(query))).toMatchObject(expected);
  });
}
