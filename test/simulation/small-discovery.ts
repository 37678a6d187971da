import type { Transport } from "@tmc/kube/transport/transport.ts";

const kept: ReadonlySet<unknown> = new Set(["", "apps", "batch", "networking.k8s.io"]);
const keptWithAllTypes: ReadonlySet<unknown> = new Set([...kept, "autoscaling"]);
/** The servers' answers never change, and there are few of them. */
const made = new Map<string, string>();
const none: ReadonlySet<string> = new Set();

/**
 * A way to a cluster that serves few groups: everything that is served is written into the registration, and a long list
 * there would take most of a simulation's time and test nothing more. `more` are groups that it serves besides.
 */
export function withSmallDiscovery(
  server: Transport,
  { exportsAllTypes }: Readonly<{ exportsAllTypes: boolean }>,
  more: ReadonlySet<string> = none,
): Transport {
  const groups = new Set([...(exportsAllTypes ? keptWithAllTypes : kept), ...more]);
  return {
    send: async (request) => {
      const response = await server.send(request);
      if ((request.path !== "/api" && request.path !== "/apis") || response.status !== 200) return response;
      const text = async (): Promise<string> => shortened(await response.text(), groups);
      async function* chunks(): AsyncGenerator<string> {
        yield await text();
      }
      return { ...response, text, chunks };
    },
    close: () => server.close(),
  };
}

function shortened(text: string, groups: ReadonlySet<unknown>): string {
  const key = `${[...groups].join()} ${text}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const body: unknown = JSON.parse(text);
  if (typeof body !== "object" || body === null || !("items" in body) || !Array.isArray(body.items)) return text;
  const items = body.items.filter((item: Readonly<{ metadata?: Readonly<{ name?: unknown }> }>) =>
    groups.has(item.metadata?.name ?? ""),
  );
  const short = JSON.stringify({ ...body, items });
  made.set(key, short);
  return short;
}
