import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { troubleOfHub } from "../upstream/hub-requests.ts";
import type { ReadType } from "./source-kinds.ts";

/** Where objects are read. */
export type Place = Readonly<{
  /** A client in the logical cluster. */
  client: Pick<KubeClient, "listAll">;
  /** Undefined for all. */
  namespaces: readonly string[] | undefined;
}>;

/** Which objects: all of a type, or those of one name. */
export type Wanted = Readonly<{ type: ReadType; name?: string | undefined }>;

/**
 * Reads objects, in whatever scope the server keeps their type. Undefined when the type is not served: that says nothing
 * about what is stored.
 */
export async function readObjects(
  { client, namespaces }: Place,
  { type: { maybeNamespaced, ...type }, name }: Wanted,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  const list = async (namespace?: string): Promise<readonly KubeObject[] | undefined> => {
    const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`;
    try {
      const { items } = await client.listAll<KubeObject>({ type, namespace }, { signal, fieldSelector });
      return items;
    } catch (error) {
      if (faultOf(error) === "not-found") return undefined;
      throw troubleOfHub(error);
    }
  };
  if (!maybeNamespaced || namespaces === undefined) return list();
  // One namespace after the other, for that may be all that we are allowed.
  const [first, ...others] = namespaces;
  const objects = first === undefined ? undefined : await list(first);
  if (objects === undefined) {
    // Not in namespaces, or not at all. What turns out to be in one after all is held to the same bounds.
    const everywhere = await list();
    return everywhere?.filter(
      ({ metadata: { namespace } }) => namespace === undefined || namespaces.includes(namespace),
    );
  }
  const rest = await Promise.all(others.map(list));
  return [...objects, ...rest.flatMap((found) => found ?? [])];
}
