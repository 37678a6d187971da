import type { Step } from "../scenario.ts";
import { physicalNames } from "../servers.ts";
import type { Feature } from "./feature.ts";

/**
 * Lists and watches of Deployments fail on one cluster for some minutes, while probes and reads of single objects succeed:
 * the cluster stays Ready, and what was heard of its copies grows old.
 */
export const listOutage: Feature = {
  name: "list-outage",
  share: 0.1,
  steps: (seeded, { endMs }) => {
    const cluster = seeded.pick(physicalNames);
    const atMs = seeded.between(0, Math.round(endMs / 2));
    const forMs = seeded.between(150_000, 300_000);
    const failing = (verb: string): Step => {
      const rule = { effect: { kind: "status", code: 503 }, match: { verb, resource: "deployments" } } as const;
      return { atMs, fault: { kind: "cluster-fault", cluster, rule, forMs } };
    };
    return [failing("list"), failing("watch"), { atMs, fault: { kind: "cut-watches" } }];
  },
};
