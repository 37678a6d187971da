import type { Collection, KubeClient, ListOptions } from "../client.ts";
import { faultOf } from "../errors.ts";
import type { KubeList, KubeObject } from "../kube-object.ts";

/** What an endless watch needs of a client. */
export type Watchable = Pick<KubeClient, "listAll" | "watch">;

/** Objects per page; only one page of complete objects is in memory at a time. Pages of 100 made a start over 10,000 objects a second slower. */
export const pageSize = 250;

export type PagedListOptions = Readonly<{
  /** Applied to each object as soon as its page has arrived. */
  transform: (object: KubeObject) => KubeObject;
  /** Awaited before the second page is requested. @default nothing */
  beforeSecondPage?: (() => Promise<void>) | undefined;
}>;

/**
 * Lists a collection by pages and transforms each page at once. Complete objects of a long list, with everything that
 * servers add to them, would briefly take more memory than the rest of the process.
 */
export async function listByPages(
  client: Pick<KubeClient, "list" | "listAll">,
  { transform, beforeSecondPage }: PagedListOptions,
  collection: Collection,
  options: ListOptions = {},
): Promise<KubeList> {
  const items: KubeObject[] = [];
  // A continue token contains the version of its list, and servers reject another one next to it.
  const { resourceVersion: _, resourceVersionMatch: __, ...following } = options;
  const request = (token: string | undefined): Promise<KubeList> =>
    client.list<KubeObject>(collection, {
      ...(token === undefined ? options : following),
      limit: pageSize,
      continue: token,
    });
  const addPage = (page: KubeList): void => {
    for (const item of page.items) items.push(transform(item));
  };
  let first: KubeList | undefined;
  try {
    let page = await request(undefined);
    first = page;
    for (let token = page.metadata.continue; token; token = page.metadata.continue) {
      if (page === first) await beforeSecondPage?.();
      // The server prepares the next page while this one is transformed.
      const next = request(token);
      addPage(page);
      page = await next;
    }
    addPage(page);
  } catch (error) {
    if (first === undefined || faultOf(error) !== "expired") throw error;
    // The snapshot expired. The client's own listAll starts again, and handles a second expiry.
    const whole = await client.listAll<KubeObject>(collection, options);
    return { ...whole, items: whole.items.map(transform) };
  }
  return { ...first, items };
}
