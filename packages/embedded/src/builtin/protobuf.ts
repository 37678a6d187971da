import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { MutableFields } from "../machinery/fields.ts";
import messages from "./messages.generated.json" with { type: "json" };
import { componentName } from "./schemas.ts";

/** Go clients send built-in types as protobuf unless configured otherwise. */
const protobufType = "application/vnd.kubernetes.protobuf";

/** Magic bytes at the start of every protobuf body. */
const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

const beginsWithMagic = (body: Uint8Array): boolean => magic.every((byte, index) => body[index] === byte);

/** Decodes a built-in object. Throws if the body is not protobuf or the kind is unknown. */
export function decodeProtobuf(body: Uint8Array): KubeObject {
  if (!beginsWithMagic(body)) {
    throw new Error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  const envelope = readFields(body.subarray(magic.length));
  const typeMeta = readFields(bytesAt(envelope, 1));
  const apiVersion = decodeText(bytesAt(typeMeta, 1));
  const kind = decodeText(bytesAt(typeMeta, 2));
  const content = decodeMessage(messageName(apiVersion, kind), bytesAt(envelope, 2));
  const object = isRecord(content) ? content : {};
  return { apiVersion, kind, metadata: {}, ...object };
}

/**
 * Converts a protobuf body to JSON, so that only the listener handles protobuf. Returns undefined for other content
 * types and for bodies that cannot be decoded; the server then answers with the media types it accepts.
 */
export function jsonFromProtobuf(body: Uint8Array, contentType: string | undefined): string | undefined {
  // Some of kubectl's writes have no content type; the magic bytes identify them.
  const isNamed = contentType?.split(";")[0]?.trim().toLowerCase() === protobufType;
  if (!isNamed && !(contentType === undefined && beginsWithMagic(body))) return undefined;
  try {
    return JSON.stringify(decodeProtobuf(body));
  } catch {
    return undefined;
  }
}

function messageName(apiVersion: string, kind: string): string {
  // Options are sent with the apiVersion of the type they belong to.
  if (kind.endsWith("Options")) return `k8s.io.apimachinery.pkg.apis.meta.v1.${kind}`;
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return componentName(group ?? "", version ?? "", kind)
    .replace(/^io\.k8s\./, "k8s.io.")
    .replace("apiextensions-apiserver", "apiextensions_apiserver");
}

type FieldType = Readonly<{
  name: string;
  type: string;
  shape: "single" | "list" | "map";
  /** Absent and zero differ: a zero that was sent is kept. */
  isPointer: boolean;
  /** Written to JSON even if zero. */
  isKept: boolean;
  /** In JSON its fields are merged into the parent. */
  isInline: boolean;
}>;

const textOf: ReadonlyMap<string, string> = new Map(Object.entries(messages));
const fieldTypes = new Map<string, ReadonlyMap<number, FieldType>>();

function fieldsOf(message: string): ReadonlyMap<number, FieldType> {
  const known = fieldTypes.get(message);
  if (known !== undefined) return known;
  const text = textOf.get(message);
  if (text === undefined) throw new Error(`no kind is registered for the type ${message}`);
  const folder = message.slice(0, message.lastIndexOf("."));
  const parsed = new Map(
    text
      .split(",")
      .filter((field) => field !== "")
      .map((field): [number, FieldType] => {
        const [number = "", name = "", rest = ""] = field.split(" ");
        const [, flags = "", shape, type = ""] = /^([*!^]*)(\[\]|\{\})?(.*)$/.exec(rest) ?? [];
        return [
          Number(number),
          {
            name,
            type: type.includes(".") || scalars.has(type) ? type : `${folder}.${type}`,
            shape: shape === "[]" ? "list" : shape === "{}" ? "map" : "single",
            isPointer: flags.includes("*"),
            isKept: flags.includes("!"),
            isInline: flags.includes("^"),
          },
        ];
      }),
  );
  fieldTypes.set(message, parsed);
  return parsed;
}

const scalars: ReadonlySet<string> = new Set(["string", "bytes", "bool", "int32", "int64", "double"]);

/** Types whose JSON is not an object of their fields. */
const specialDecoders: Readonly<Record<string, (fields: readonly RawField[], message: string) => unknown>> = {
  "meta.v1.Time": (fields) => decodeTime(fields, 0),
  "meta.v1.MicroTime": (fields) => decodeTime(fields, 6),
  "resource.Quantity": (fields) => decodeText(bytesAt(fields, 1)),
  "intstr.IntOrString": (fields) => (numberAt(fields, 1) === 0 ? numberAt(fields, 2) : decodeText(bytesAt(fields, 3))),
  "runtime.RawExtension": (fields) => decodeJson(bytesAt(fields, 1)),
  "meta.v1.FieldsV1": (fields) => decodeJson(bytesAt(fields, 1)),
  "apiextensions.v1.JSON": (fields) => decodeJson(bytesAt(fields, 1)),
  "v1.ExtraValue": (fields) => fields.map(({ value }) => decodeText(asBytes(value))),
  "apiextensions.v1.JSONSchemaPropsOrArray": (fields, message) => firstOf(fields, message, [1, 2]),
  "apiextensions.v1.JSONSchemaPropsOrBool": (fields, message) => firstOf(fields, message, [2, 1]),
  "apiextensions.v1.JSONSchemaPropsOrStringArray": (fields, message) => firstOf(fields, message, [1, 2]),
};

function decodeMessage(message: string, bytes: Uint8Array): unknown {
  const raw = readFields(bytes);
  const decode =
    specialDecoders[message.split(".").slice(-3).join(".")] ?? specialDecoders[message.split(".").slice(-2).join(".")];
  return decode === undefined ? decodeFields(message, raw) : decode(raw, message);
}

/** Returns the set member of a union type. */
function firstOf(raw: readonly RawField[], message: string, numbers: readonly number[]): unknown {
  const object = decodeFields(message, raw, true);
  const names = numbers.map((number) => fieldsOf(message).get(number)?.name ?? "");
  return names.map((name) => object[name]).find((value) => value !== undefined && value !== null);
}

function decodeFields(message: string, raw: readonly RawField[], keepZero = false): MutableFields {
  const types = fieldsOf(message);
  const result: MutableFields = {};
  for (const { number, value } of raw) {
    const field = types.get(number);
    // Unknown fields come from a newer Kubernetes and are dropped, as in JSON.
    if (field === undefined) continue;
    if (field.shape === "map") {
      const entry = readFields(asBytes(value));
      const entries = isRecord(result[field.name]) ? (result[field.name] as MutableFields) : {};
      entries[decodeText(bytesAt(entry, 1))] = decodeValue(
        field.type,
        entry.find((part) => part.number === 2)?.value ?? empty,
      );
      result[field.name] = entries;
    } else if (field.shape === "list") {
      const before: unknown = result[field.name];
      result[field.name] = [...(Array.isArray(before) ? before : []), decodeValue(field.type, value)];
    } else {
      const decoded = decodeValue(field.type, value);
      if (field.isInline && isRecord(decoded)) Object.assign(result, decoded);
      else if (decoded !== null && (keepZero || field.isPointer || field.isKept || !isZero(decoded))) {
        result[field.name] = decoded;
      }
    }
  }
  return result;
}

/** Go sends zeros for required fields; JSON omits them. */
function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false;
}

function decodeValue(type: string, value: RawField["value"]): unknown {
  switch (type) {
    case "string":
      return decodeText(asBytes(value));
    case "bytes":
      return Buffer.from(asBytes(value)).toString("base64");
    case "bool":
      return asNumber(value) !== 0;
    case "int32":
    case "int64":
      return asNumber(value);
    case "double": {
      const bytes = asBytes(value);
      return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat64(0, true);
    }
    default:
      return decodeMessage(type, asBytes(value));
  }
}

function decodeTime(fields: readonly RawField[], digits: 0 | 6): string | null {
  if (fields.length === 0) return null;
  const seconds = numberAt(fields, 1);
  const text = new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "");
  if (digits === 0) return `${text}Z`;
  const micros = Math.trunc(numberAt(fields, 2) / 1000);
  return `${text}.${String(micros).padStart(6, "0")}Z`;
}

function decodeJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return null;
  const value: unknown = JSON.parse(decodeText(bytes));
  return value;
}

const decoder = new TextDecoder();
const decodeText = (bytes: Uint8Array): string => decoder.decode(bytes);
const empty = new Uint8Array();

/** The value is a number for varints and bytes for all other wire types. */
type RawField = Readonly<{ number: number; value: number | Uint8Array }>;

function bytesAt(fields: readonly RawField[], number: number): Uint8Array {
  return asBytes(fields.findLast((field) => field.number === number)?.value ?? empty);
}

function numberAt(fields: readonly RawField[], number: number): number {
  return asNumber(fields.findLast((field) => field.number === number)?.value ?? 0);
}

function asBytes(value: RawField["value"]): Uint8Array {
  if (typeof value === "number") throw new Error("protobuf: a number where a message or text was expected");
  return value;
}

function asNumber(value: RawField["value"]): number {
  if (typeof value !== "number") throw new Error("protobuf: a message or text where a number was expected");
  return value;
}

/** Splits a message into its fields, in wire order. */
function readFields(bytes: Uint8Array): RawField[] {
  const fields: RawField[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined || shift > 63n) throw new Error("unexpected EOF");
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const readBytes = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new Error("unexpected EOF");
    const part = bytes.subarray(at, at + length);
    at += length;
    return part;
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >>> 3;
    switch (tag & 7) {
      case 0:
        fields.push({ number, value: Number(BigInt.asIntN(64, varint())) });
        break;
      case 1:
        fields.push({ number, value: readBytes(8) });
        break;
      case 2:
        fields.push({ number, value: readBytes(Number(varint())) });
        break;
      case 5:
        fields.push({ number, value: readBytes(4) });
        break;
      default:
        throw new Error(`protobuf: illegal wire type ${tag & 7}`);
    }
  }
  return fields;
}
