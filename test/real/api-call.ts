import { request } from "node:https";

/** Where an API server is and who we are there. */
export type ApiAccess = Readonly<{ url: string; ca: string; token?: string | undefined }>;
export type ApiAnswer = Readonly<{ status: number; body: string }>;

/**
 * Makes one call to an API server. The harness asks so little of a server that it does without the project's own client,
 * which it helps to test.
 */
export function callApi(
  access: ApiAccess,
  method: "GET" | "POST" | "PUT",
  path: string,
  body?: object,
): Promise<ApiAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
  const call = request(
    `${access.url}${path}`,
    {
      method,
      ca: access.ca,
      agent: false,
      timeout: 10_000,
      headers: {
        accept: "application/json",
        ...(access.token === undefined ? {} : { authorization: `Bearer ${access.token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
    },
    (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
      answer.on("error", reject);
    },
  );
  call.on("timeout", () => call.destroy(new Error(`${method} ${path}: no answer within 10 s`)));
  call.on("error", reject);
  call.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}
