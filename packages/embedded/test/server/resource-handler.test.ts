import { describe, expect, it } from "vitest";
import { type Call, itRejects, prepare, type Rejection } from "../support/rejections.ts";
import { aConfigMap, aWidget, type CallOptions } from "../support/test-core.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const things = "/apis/ex.io/v1/namespaces/default/widgets";
const dep = "/apis/apps/v1/namespaces/default/deployments";

const merge = (body: unknown): CallOptions => ({ body, type: "application/merge-patch+json" });
const json = (body: unknown): CallOptions => ({ body, type: "application/json-patch+json" });
const apply = (body: unknown): CallOptions => ({ body, type: "application/apply-patch+yaml" });
const x = aConfigMap("x");
const withX: Call = ["POST", maps, { body: x }];
const withA: Call = ["POST", things, { body: aWidget("a") }];
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const modified = "the object has been modified; please apply your changes to the latest version and try again";
const noKind = 'in scheme "pkg/runtime/scheme.go:111"';

const refusals: Record<string, Rejection> = {
  "a path below a served group that names no resource is 404": {
    call: ["GET", "/apis/apps/v1/foos"],
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  },
  "a subresource that is not served is 404": {
    call: ["GET", `${maps}/x/status`],
    code: 404,
    message: "the server could not find the requested resource",
  },
  "a namespaced object without its namespace is 404": {
    call: ["GET", "/api/v1/configmaps/foo"],
    code: 404,
    message: "the server could not find the requested resource",
  },
  "a cluster-wide object in a namespace is 404": {
    call: ["GET", "/api/v1/namespaces/default/namespaces/x"],
    code: 404,
    message: "the server could not find the requested resource",
  },
  "an object that is not there is 404": {
    call: ["GET", `${dep}/web`],
    code: 404,
    reason: "NotFound",
    message: 'deployments.apps "web" not found',
    details: { name: "web", group: "apps", kind: "deployments" },
  },
  "an update of what is not there is 404": {
    call: ["PUT", `${maps}/x`, { body: x }],
    code: 404,
    message: 'configmaps "x" not found',
    details: { name: "x", kind: "configmaps" },
  },
  "a patch of what is not there is 404": {
    call: ["PATCH", `${maps}/x`, merge({})],
    code: 404,
    message: 'configmaps "x" not found',
  },
  "a deletion of what is not there is 404": {
    call: ["DELETE", `${maps}/x`],
    code: 404,
    message: 'configmaps "x" not found',
  },
  "a PUT of a collection is 405": {
    call: ["PUT", maps, { body: x }],
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  },
  "a POST to an object is 405": {
    call: ["POST", `${maps}/x`, { body: x }],
    code: 405,
    message: "the server does not allow this method on the requested resource",
  },
  "a creation outside of any namespace is 405": {
    call: ["POST", "/api/v1/configmaps", { body: x }],
    code: 405,
    message: "the server does not allow this method on the requested resource",
  },
  "a name that is taken is 409": {
    given: [withX],
    call: withX,
    code: 409,
    reason: "AlreadyExists",
    message: 'configmaps "x" already exists',
    details: { name: "x", kind: "configmaps" },
  },
  "a name whose object is being deleted is 409 and says so": {
    given: [
      ["POST", maps, { body: aConfigMap("x", { metadata: { finalizers: ["a/b"] } }) }],
      ["DELETE", `${maps}/x`],
    ],
    call: withX,
    code: 409,
    message: 'object is being deleted: configmaps "x" already exists',
  },
  "another kind of object is 400": {
    call: ["POST", maps, { body: { ...x, kind: "Namespace" } }],
    code: 400,
    reason: "BadRequest",
    message:
      'Namespace in version "v1" cannot be handled as a ConfigMap: converting (v1.Namespace) to (core.ConfigMap): unknown conversion',
  },
  "an unknown kind is 400": {
    call: ["POST", maps, { body: { ...x, kind: "Foo" } }],
    code: 400,
    message: `Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" ${noKind}`,
  },
  "another version of a built-in type is 400": {
    call: ["POST", maps, { body: { ...x, apiVersion: "v2" } }],
    code: 400,
    message: `ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" ${noKind}`,
  },
  "a custom object without its kind is 400": {
    call: ["POST", things, { body: '{"metadata":{"name":"a"}}' }],
    code: 400,
    message: `the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"a"}}' ({"metadata":{"name":"a"}})`,
  },
  "a custom object of another kind is 422": {
    call: ["POST", things, { body: { ...aWidget("b"), kind: "Foo" } }],
    code: 422,
    message: 'Foo.ex.io "b" is invalid: kind: Invalid value: "Foo": must be Widget',
  },
  "a custom object of another version is 400": {
    call: ["POST", things, { body: { ...aWidget("b"), apiVersion: "ex.io/v2" } }],
    code: 400,
    message: "the API version in the data (ex.io/v2) does not match the expected API version (ex.io/v1)",
  },
  "another namespace in the body is 400": {
    call: ["POST", maps, { body: aConfigMap("x", { metadata: { namespace: "other" } }) }],
    code: 400,
    message: "the namespace of the provided object does not match the namespace sent on the request",
  },
  "an object without a name is 422": {
    call: ["POST", maps, { body: { metadata: {} } }],
    code: 422,
    reason: "Invalid",
    message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    details: {
      kind: "ConfigMap",
      causes: [
        {
          reason: "FieldValueRequired",
          message: "Required value: name or generateName is required",
          field: "metadata.name",
        },
      ],
    },
  },
  "a name that is no DNS name is 422": {
    call: ["POST", maps, { body: aConfigMap("X_y") }],
    code: 422,
    message: `ConfigMap "X_y" is invalid: metadata.name: Invalid value: "X_y": ${subdomain}`,
  },
  "cut-off JSON is 400": {
    call: ["POST", maps, { body: "{" }],
    code: 400,
    message:
      "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({)",
  },
  "a list for an object is 400": {
    call: ["POST", maps, { body: "[]" }],
    code: 400,
    message:
      'the object provided is unrecognized (must be of type ConfigMap): couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)',
  },
  "a body of an unknown type is 415": {
    call: ["POST", maps, { body: "{}", type: "text/plain" }],
    code: 415,
    reason: "UnsupportedMediaType",
    message:
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  },
  "a value of the wrong type in a built-in object is 400": {
    call: ["POST", maps, { body: { metadata: { name: "x" }, data: 5 } }],
    code: 400,
    message:
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string',
  },
  "a value of the wrong type in a custom object is 422": {
    call: ["POST", things, { body: aWidget("b", { spec: { replicas: "x" } }) }],
    code: 422,
    message:
      'Widget.ex.io "b" is invalid: [spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64]',
  },
  "an unknown field is 400 under strict validation": {
    call: ["POST", `${things}?fieldValidation=Strict`, { body: aWidget("b", { spec: { foo: 1 } }) }],
    code: 400,
    message: 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.foo"',
  },
  "a field that is there twice is 400 under strict validation": {
    call: ["POST", `${maps}?fieldValidation=Strict`, { body: '{"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}' }],
    code: 400,
    message:
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.a"',
  },
  "an unknown kind of validation is 422": {
    call: ["POST", `${maps}?fieldValidation=Nope`, { body: x }],
    code: 422,
    message:
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Nope": supported values: "", "Ignore", "Strict", "Warn"',
  },
  "an unknown dry run is 422": {
    call: ["POST", `${maps}?dryRun=Nope`, { body: x }],
    code: 422,
    message: 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Nope"]: supported values: "All"',
  },
  "a namespace that is not there is 404": {
    call: ["POST", "/api/v1/namespaces/nope/configmaps", { body: aConfigMap("X_") }],
    code: 404,
    message: 'namespaces "nope" not found',
    details: { name: "nope", kind: "namespaces" },
  },
  "a namespace that is going takes nothing new": {
    given: [
      ["POST", "/api/v1/namespaces", { body: { metadata: { name: "going" } } }],
      ["DELETE", "/api/v1/namespaces/going"],
    ],
    call: ["POST", "/api/v1/namespaces/going/configmaps", { body: x }],
    code: 403,
    reason: "Forbidden",
    message:
      'configmaps "x" is forbidden: unable to create new content in namespace going because it is being terminated',
    details: {
      name: "x",
      kind: "configmaps",
      causes: [
        {
          reason: "NamespaceTerminating",
          message: "namespace going is being terminated",
          field: "metadata.namespace",
        },
      ],
    },
  },
  "the default namespace cannot be deleted": {
    call: ["DELETE", "/api/v1/namespaces/default"],
    code: 403,
    message: 'namespaces "default" is forbidden: this namespace may not be deleted',
  },
  "an update under another name is 400": {
    given: [withX],
    call: ["PUT", `${maps}/x`, { body: aConfigMap("y") }],
    code: 400,
    message: "the name of the object (y) does not match the name on the URL (x)",
  },
  "an update without a name is 400": {
    given: [withX],
    call: ["PUT", `${maps}/x`, { body: { metadata: {} } }],
    code: 400,
    message: "the name of the object (x based on URL) was undeterminable: name must be provided",
  },
  "an update of an older version is 409": {
    given: [withX],
    call: ["PUT", `${maps}/x`, { body: aConfigMap("x", { metadata: { resourceVersion: "1" } }) }],
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on configmaps "x": ${modified}`,
    details: { name: "x", kind: "configmaps" },
  },
  "an update of a custom object must say of which version": {
    given: [withA],
    call: ["PUT", `${things}/a`, { body: aWidget("a") }],
    code: 422,
    message:
      'widgets.ex.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  },
  "a resourceVersion that is no number is 500": {
    given: [withX],
    call: ["PUT", `${maps}/x`, { body: aConfigMap("x", { metadata: { resourceVersion: "abc" } }) }],
    code: 500,
    message: 'strconv.ParseUint: parsing "abc": invalid syntax',
  },
  "a patch to another name is 400": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, merge({ metadata: { name: "y" } })],
    code: 400,
    message: "the name of the object (y) does not match the name on the URL (x)",
  },
  "a patch of the uid is 422": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, merge({ metadata: { uid: "y" } })],
    code: 422,
    message: 'ConfigMap "x" is invalid: metadata.uid: Invalid value: "y": field is immutable',
  },
  "a patch for an older version is 409": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, merge({ metadata: { resourceVersion: "1" } })],
    code: 409,
    message: `Operation cannot be fulfilled on configmaps "x": ${modified}`,
  },
  "a JSON patch whose test fails is 422": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, json([{ op: "test", path: "/data/a", value: "z" }])],
    code: 422,
    message: "the server rejected our request due to an error in our request",
  },
  "a merge patch that is no object is 400": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, merge([])],
    code: 400,
    message: "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
  },
  "a cut-off patch is 400": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, merge("{")],
    code: 400,
    message: "error decoding patch: unexpected end of JSON input",
  },
  "a patch of no known type is 415": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, { body: {}, type: "application/json" }],
    code: 415,
    message: "415: Unsupported Media Type",
  },
  "a strategic patch of a custom object is 415": {
    given: [withA],
    call: ["PATCH", `${things}/a`, { body: {}, type: "application/strategic-merge-patch+json" }],
    code: 415,
    message:
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
  },
  "an apply without a manager is 422": {
    call: ["PATCH", `${things}/a`, apply(aWidget("a"))],
    code: 422,
    message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
  },
  "force is for applies only": {
    given: [withX],
    call: ["PATCH", `${maps}/x?force=true`, merge({})],
    code: 422,
    message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
  },
  "an apply of another kind is 400": {
    call: ["PATCH", `${maps}/x?fieldManager=m`, apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "x" } })],
    code: 400,
    message: "invalid object type: /v1, Kind=Secret",
  },
  "an apply to what somebody else owns is 409": {
    given: [["PATCH", `${things}/z?fieldManager=m`, apply(aWidget("z", { spec: { replicas: 2 } }))]],
    call: ["PATCH", `${things}/z?fieldManager=n`, apply(aWidget("z", { spec: { replicas: 3 } }))],
    code: 409,
    reason: "Conflict",
    message: 'Apply failed with 1 conflict: conflict with "m": .spec.replicas',
    details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m"', field: ".spec.replicas" }] },
  },
  "an apply to the status of what is not there is 404": {
    call: ["PATCH", `${things}/q/status?fieldManager=n`, apply(aWidget("q"))],
    code: 404,
    message: 'widgets.ex.io "q" not found',
  },
  "a finalizer without a domain is 422 for a built-in type": {
    given: [withX],
    call: ["PATCH", `${maps}/x`, merge({ metadata: { finalizers: ["foo"] } })],
    code: 422,
    message:
      'ConfigMap "x" is invalid: metadata.finalizers[0]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
  },
  "what is being deleted gets no new finalizers": {
    given: [
      ["POST", maps, { body: aConfigMap("x", { metadata: { finalizers: ["a/b"] } }) }],
      ["DELETE", `${maps}/x`],
    ],
    call: ["PATCH", `${maps}/x`, merge({ metadata: { finalizers: ["a/b", "a/c"] } })],
    code: 422,
    message:
      'ConfigMap "x" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a/c"}',
  },
  "an unknown way to deal with dependents is 422": {
    given: [withX],
    call: ["DELETE", `${maps}/x?propagationPolicy=Foo`],
    code: 422,
    message:
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan", "nil"',
  },
  "a negative number of replicas is 422": {
    given: [withA],
    call: ["PATCH", `${things}/a/scale`, merge({ spec: { replicas: -4 } })],
    code: 422,
    message: 'Widget.ex.io "a" is invalid: .spec.replicas: Invalid value: -4: should be a non-negative integer',
  },
};

describe("a rejected write has the message of a real server", () => {
  itRejects(refusals);

  it("a wrong uid precondition is 409 with the message of the storage", async () => {
    const core = await prepare([withX]);
    const live = core.store.get({ storage: "configmaps", logicalCluster: "", namespace: "default", name: "x" });
    const { status, body } = await core.call("PUT", `${maps}/x`, {
      body: aConfigMap("x", { metadata: { uid: "abc" } }),
    });
    expect(status).toBe(409);
    expect(body).toMatchObject({
      message: `Operation cannot be fulfilled on configmaps "x": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/x, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: abc, UID in object meta: ${live?.metadata.uid}`,
    });
  });

  it("a failed precondition of a deletion names the kind", async () => {
    const core = await prepare([withA]);
    const uid = core.store.get({ storage: "widgets.ex.io", logicalCluster: "", namespace: "default", name: "a" })
      ?.metadata.uid;
    const { status, body } = await core.call("DELETE", `${things}/a`, { body: { preconditions: { uid: "x" } } });
    expect(status).toBe(409);
    expect(body).toMatchObject({
      message: `Operation cannot be fulfilled on Widget.ex.io "a": the UID in the precondition (x) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    });
  });

  it("a path of a group that is not served is 404 page not found", async () => {
    const core = await prepare();
    for (const path of ["/foo", "/apis/nope.io/v1/foos", "/readyz/nope"]) {
      expect(await core.call("GET", path)).toMatchObject({ status: 404, text: "404 page not found\n" });
    }
  });
});
