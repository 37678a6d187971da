import { InMemoryWorld } from "./in-memory-world.ts";

/** A world with three Ready clusters. */
export function anInMemoryWorld(): InMemoryWorld {
  const world = new InMemoryWorld();
  for (const name of ["east", "west", "north"]) world.register(name);
  return world;
}

/** Helpers for reconciler tests that read the current world. */
export function inWorld(currentWorld: () => InMemoryWorld) {
  return {
    /** The reason or state of each copy in the record. */
    states: (name: string) =>
      Object.fromEntries(
        (currentWorld().record(name)?.status?.clusters ?? []).map((each) => [each.name, each.reason ?? each.state]),
      ),
    /** The clusters that have a copy. */
    has: (name: string) =>
      ["east", "north", "west"].filter((cluster) => currentWorld().copy(cluster, name) !== undefined).join(" "),
    /** Places a workload on two clusters and makes it ready there. */
    running: async (name = "web"): Promise<void> => {
      const world = currentWorld();
      world.place("shop", ["east", "west"]);
      world.apply(name);
      await world.settle(name);
      world.makeReady("east", "west");
      await world.settle(name);
    },
  };
}
