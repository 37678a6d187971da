import type { Collection, KubeClient, ListOptions } from "./client.ts";
import { faultOf } from "./errors.ts";
import type { KubeList, KubeObject } from "./kube-object.ts";

/** What an endless watch needs of a client. */
export type Watchable = Pick<KubeClient, "listAll" | "watch">;

/** Whole objects with their managed fields: a page of them is all that is held at once. With 100, a start over ten thousand took a second longer. */
export const pageSize = 250;

/**
 * A client whose lists let go of what nobody needs page by page. Listed whole, ten thousand objects with all that servers
 * add to them would take more memory for a moment than everything else together ever does.
 */
export function pageByPage(
  client: Pick<KubeClient, "list" | "listAll" | "watch">,
  slim: (object: KubeObject) => KubeObject,
  giveWay?: () => Promise<void>,
): Watchable {
  const listAll = (collection: Collection, options: ListOptions = {}): Promise<KubeList> =>
    listByPages(client, { slim, giveWay }, collection, options);
  return {
    // The watch names the type of the objects it lists; what the server sends is taken for it, as everywhere in the client.
    listAll: listAll as KubeClient["listAll"],
    watch: (collection, options) => client.watch(collection, options),
  };
}

export type Paging = Readonly<{
  slim: (object: KubeObject) => KubeObject;
  /** What to wait for before the second page is asked for. @default nothing */
  giveWay?: (() => Promise<void>) | undefined;
}>;

/** Lists everything in the same way: all of it, or it fails. */
export async function listByPages(
  client: Pick<KubeClient, "list" | "listAll">,
  { slim, giveWay }: Paging,
  collection: Collection,
  options: ListOptions = {},
): Promise<KubeList> {
  const items: KubeObject[] = [];
  const ask = (token: string | undefined): Promise<KubeList> =>
    client.list<KubeObject>(collection, { ...options, limit: pageSize, continue: token });
  let first: KubeList | undefined;
  try {
    let page = await ask(undefined);
    first = page;
    for (;;) {
      const { continue: token } = page.metadata;
      if (!token) break;
      if (page === first) await giveWay?.();
      // The server makes the next page while this one is looked through.
      const next = ask(token);
      for (const item of page.items) items.push(slim(item));
      page = await next;
    }
    for (const item of page.items) items.push(slim(item));
  } catch (error) {
    if (first === undefined || faultOf(error) !== "expired") throw error;
    // The snapshot went while it was read. The client's own way starts again, and cannot lose it twice.
    const whole = await client.listAll<KubeObject>(collection, options);
    return { ...whole, items: whole.items.map(slim) };
  }
  return { ...first, items };
}
