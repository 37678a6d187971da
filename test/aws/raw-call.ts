import { request } from "node:https";

/** A request as it goes over the wire. */
export type RawCall = Readonly<{
  url: string;
  ca: string | undefined;
  headers: Readonly<Record<string, string>>;
  body: string;
}>;

/** Posts something and answers what came back. */
export function callRaw({ url, ca, headers, body }: RawCall): Promise<Readonly<{ status: number; body: string }>> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const trust = ca === undefined ? {} : { ca };
  const call = request(url, { method: "POST", agent: false, timeout: 10_000, headers, ...trust }, (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      text += chunk;
    });
    answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
    answer.on("error", reject);
  });
  call.on("timeout", () => call.destroy(new Error(`${url}: no answer within 10 s`)));
  call.on("error", reject);
  call.end(body);
  return promise;
}
