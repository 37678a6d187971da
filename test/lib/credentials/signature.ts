import { createHash, createHmac } from "node:crypto";

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** Computes the signature of a presigned URL by the steps in the documentation of AWS. */
export function expectedSignature(
  url: URL,
  headers: Readonly<Record<string, string>>,
  secretAccessKey: string,
): string {
  const query = [...url.searchParams].filter(([name]) => name !== "X-Amz-Signature").map(pair);
  const names = (url.searchParams.get("X-Amz-SignedHeaders") ?? "").split(";");
  const canonical = [
    "GET",
    url.pathname,
    query.toSorted().join("&"),
    ...names.map((name) => `${name}:${headers[name] ?? ""}`),
    "",
    names.join(";"),
    createHash("sha256").digest("hex"),
  ].join("\n");
  const [, ...scope] = (url.searchParams.get("X-Amz-Credential") ?? "").split("/");
  const [day = "", region = "", service = "", end = ""] = scope;
  const toSign = [
    "AWS4-HMAC-SHA256",
    url.searchParams.get("X-Amz-Date"),
    scope.join("/"),
    createHash("sha256").update(canonical).digest("hex"),
  ].join("\n");
  const key = [region, service, end].reduce(hmac, hmac(`AWS4${secretAccessKey}`, day));
  return hmac(key, toSign).toString("hex");
}

const pair = ([name, value]: [string, string]): string => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
