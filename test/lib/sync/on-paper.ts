import { PaperWorld } from "./paper-world.ts";

/** A world with three clusters that are ready. */
export function aPaperWorld(): PaperWorld {
  const world = new PaperWorld();
  for (const name of ["east", "west", "north"]) world.register(name);
  return world;
}

/** What the tests of the reconciler ask of the world of the moment, and how work comes to run in it. */
export function inWorld(worldNow: () => PaperWorld) {
  return {
    /** The state of each copy, as the record has it. */
    states: (name: string) =>
      Object.fromEntries(
        (worldNow().record(name)?.status?.clusters ?? []).map((each) => [each.name, each.reason ?? each.state]),
      ),
    /** The clusters that have a copy. */
    has: (name: string) =>
      ["east", "north", "west"].filter((cluster) => worldNow().copy(cluster, name) !== undefined).join(" "),
    /** A workload that is ready on two clusters. */
    running: async (name = "web"): Promise<void> => {
      const world = worldNow();
      world.place("shop", ["east", "west"]);
      world.apply(name);
      await world.settle(name);
      world.makeReady("east", "west");
      await world.settle(name);
    },
  };
}
