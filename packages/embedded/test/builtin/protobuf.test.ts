import { describe, expect, it } from "vitest";
import { decodeProtobuf, jsonFromProtobuf } from "../../src/builtin/protobuf.ts";
import recorded from "./protobuf.generated.json" with { type: "json" };

describe("decodeProtobuf", () => {
  it.each(Object.entries(recorded))("reads a %s as the real server says it in JSON", (_kind, { bytes, json }) => {
    expect(withoutNulls(decodeProtobuf(Buffer.from(bytes, "base64")))).toEqual(json);
  });

  it("keeps an explicit zero and drops a zero that means unset", () => {
    // DeploymentSpec: replicas (a pointer) 0, minReadySeconds (none) 0.
    const spec = Uint8Array.of(0x08, 0, 0x28, 0);
    const deployment = Uint8Array.of(0x12, spec.length, ...spec);
    expect(decodeProtobuf(envelope("apps/v1", "Deployment", deployment))).toMatchObject({ spec: { replicas: 0 } });
    expect(decodeProtobuf(envelope("apps/v1", "Deployment", deployment)).spec).not.toHaveProperty("minReadySeconds");
  });

  it("reads options under whatever version they are sent", () => {
    const options = Uint8Array.of(0x08, 5);
    expect(decodeProtobuf(envelope("apps/v1", "DeleteOptions", options))).toMatchObject({ gracePeriodSeconds: 5 });
  });

  it.each([
    ["that begins otherwise", Buffer.from("{}")],
    ["of a kind that is not known", Buffer.from(envelope("example.com/v1", "Gadget", Uint8Array.of()))],
    ["that ends too early", Buffer.from(envelope("v1", "Pod", Uint8Array.of(0x12, 9)))],
  ])("rejects a body %s", (_name, body) => {
    expect(() => decodeProtobuf(body)).toThrow(Error);
    expect(jsonFromProtobuf(body, "application/vnd.kubernetes.protobuf")).toBeUndefined();
  });
});

describe("jsonFromProtobuf", () => {
  it("does not change other content types", () => {
    expect(jsonFromProtobuf(envelope("v1", "Pod", Uint8Array.of()), "application/json")).toBeUndefined();
  });

  it("converts protobuf to JSON", () => {
    const body = envelope("v1", "Pod", Uint8Array.of());
    expect(jsonFromProtobuf(body, "application/vnd.kubernetes.protobuf;charset=x")).toBe(
      '{"apiVersion":"v1","kind":"Pod","metadata":{}}',
    );
  });
});

function envelope(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array {
  const text = (number: number, value: string) => field(number, Buffer.from(value));
  const typeMeta = Buffer.concat([text(1, apiVersion), text(2, kind)]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, typeMeta), field(2, raw)]);
}

function field(number: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of((number << 3) | 2, bytes.length), bytes]);
}

function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, item: unknown) => (item === null ? undefined : item));
}
