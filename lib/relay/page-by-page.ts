import type { Collection, KubeClient, ListOptions } from "../kube/client.ts";
import { faultOf } from "../kube/errors.ts";
import type { KubeList, KubeObject } from "../model/kube-object.ts";

/** What an endless watch needs of a client. */
export type Watchable = Pick<KubeClient, "listAll" | "watch">;

/** Whole objects with their managed fields: a page of them is all that is held at once. */
const pageSize = 100;

/**
 * A client whose lists let go of what nobody needs page by page. Listed whole, ten thousand objects with all that servers
 * add to them would take more memory for a moment than everything else together ever does.
 */
export function pageByPage(
  client: Pick<KubeClient, "list" | "listAll" | "watch">,
  slim: (object: KubeObject) => KubeObject,
): Watchable {
  const listAll = (collection: Collection, options: ListOptions = {}): Promise<KubeList> =>
    listByPages(client, slim, collection, options);
  return {
    // The watch names the type of the objects it lists; what the server sends is taken for it, as everywhere in the client.
    listAll: listAll as KubeClient["listAll"],
    watch: (collection, options) => client.watch(collection, options),
  };
}

/** Lists everything in the same way: all of it, or it fails. */
export async function listByPages(
  client: Pick<KubeClient, "list" | "listAll">,
  slim: (object: KubeObject) => KubeObject,
  collection: Collection,
  options: ListOptions = {},
): Promise<KubeList> {
  const items: KubeObject[] = [];
  let token: string | undefined;
  let first: KubeList | undefined;
  try {
    do {
      const page: KubeList = await client.list<KubeObject>(collection, {
        ...options,
        limit: pageSize,
        continue: token,
      });
      first ??= page;
      for (const item of page.items) items.push(slim(item));
      token = page.metadata.continue;
    } while (token);
  } catch (error) {
    if (first === undefined || faultOf(error) !== "expired") throw error;
    // The snapshot went while it was read. The client's own way starts again, and cannot lose it twice.
    const whole = await client.listAll<KubeObject>(collection, options);
    return { ...whole, items: whole.items.map(slim) };
  }
  return { ...first, items };
}
