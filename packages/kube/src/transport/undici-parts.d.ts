// Types for the two files of undici that are imported directly.
declare module "undici/lib/dispatcher/pool.js" {
  export { Pool as default } from "undici";
}
declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";

  /** The implementation of `dispatcher.request`. */
  export default function request(
    this: Dispatcher,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>;
}
