/** List prices of AWS in US dollars, as published for this region on this date. */
export const prices = {
  date: "2026-11-15",
  region: "us-east-1",
  /** Lambda on arm64. */
  lambdaGbSecond: 1.33334e-5,
  lambdaCall: 0.2e-6,
  standardCall: 0.4e-6,
  /** A standard queue whose messages have a MessageGroupId, which SQS calls a fair queue. */
  fairCall: 0.5e-6,
  fifoCall: 0.5e-6,
  schedule: 1e-6,
  /** Fargate on arm64. */
  vcpuHour: 0.03238,
  gbHour: 0.00356,
  ipv4Hour: 0.005,
  t4gSmallHour: 0.0168,
  diskGbMonth: 0.08,
  logGb: 0.5,
  metricMonth: 0.3,
  secretMonth: 0.4,
} as const;

/** The configuration of a deployment and the assumptions of the cost table in the documentation. None of them is measured in an AWS account. */
const assumed = {
  hours: 720,
  functionGb: 0.5,
  reconcileSeconds: 0.25,
  keysPerRun: (perSecond: number) => Math.min(2.5, Math.max(1, perSecond / 4)),
  largestBatch: 10,
  relays: 2,
  relay: { vcpu: 0.25, gb: 0.5 },
  resyncMinutes: 30,
  metrics: 40,
  /** The price of a call to each queue that Lambda polls: work, heartbeat, delay, resync. */
  polled: [prices.fifoCall, prices.fairCall, prices.standardCall, prices.standardCall],
  pollers: 5,
  pollSeconds: 20,
} as const;

/**
 * Parameters that the cost table does not state, fitted so that the model reproduces it: plausible, but not observed. Adjust
 * these when a real bill differs.
 */
const fitted = {
  /** The slowest cluster of a message determines the duration, and the maximum of n waits grows with the logarithm of n. */
  probeSeconds: (clusters: number) => 0.15 + 0.206 * Math.log(clusters),
  plannerSeconds: (clusters: number) => 0.3 + 0.0007 * clusters,
  forwardSeconds: 0.1,
  forwarderGb: 0.125,
  /** A relay sends the keys of a fifth of a second in one call. */
  keysPerSend: (perSecond: number) => Math.min(10, Math.max(1, perSecond / 5)),
  /** A resync fills batches better, because its keys arrive together. */
  resyncKeysPerRun: 5,
  relayLogGb: 0.8,
  /** Log bytes per function invocation. */
  probeLogBytes: 2_000,
  reconcileLogBytes: 1_000,
} as const;

export type CostInput = Readonly<{
  clusters: number;
  /** Placed workloads; every resync reconciles all of them. @default 0 */
  workloads?: number;
  /** Average number of changes that enqueue a reconcile. One change of a workload causes about five reconciles until it is ready. */
  eventsPerSecond: number;
  heartbeatSeconds: number;
  /** Kubeconfigs in AWS Secrets Manager. */
  secrets: number;
  /** @default 50 */
  clustersPerMessage?: number;
}>;

/** One item of the monthly bill. */
export type CostPart = Readonly<{
  name: string;
  /** Billed calls to queues, functions and schedules. */
  calls: number;
  dollars: number;
}>;

export type CostEstimate = Readonly<{
  parts: readonly CostPart[];
  dollars: number;
  /** The same controller in processes that run permanently, without logs and metrics. */
  alwaysOn: readonly CostPart[];
}>;

/**
 * Estimates the cost of a month (30 days, without free tiers) of a deployment on AWS and of a controller that runs permanently.
 * The estimate is for choosing between the two; it does not predict a bill.
 */
export function estimateCost(input: CostInput): CostEstimate {
  const { clusters, workloads = 0, eventsPerSecond, heartbeatSeconds, secrets, clustersPerMessage = 50 } = input;
  const seconds = assumed.hours * 3600;
  const batch = assumed.largestBatch;
  const compute = (runs: number, runSeconds: number, gb: number = assumed.functionGb): number =>
    runs * (runSeconds * gb * prices.lambdaGbSecond + prices.lambdaCall);

  // EventBridge schedules run at most once a minute; for shorter intervals the planner sends several rounds per run.
  const planned = clusters > 0 ? seconds / Math.max(60, heartbeatSeconds) : 0;
  const perRound = Math.ceil(clusters / clustersPerMessage);
  const messages = (seconds / heartbeatSeconds) * perRound;
  const perMessage = perRound === 0 ? 1 : clusters / perRound;
  const probeSends = messages / Math.min(batch, Math.max(1, perRound));
  const heartbeat: CostPart = {
    name: "heartbeat",
    calls: planned * 2 + messages * 3 + probeSends,
    dollars:
      planned * prices.schedule +
      compute(planned, fitted.plannerSeconds(clusters)) +
      compute(messages, fitted.probeSeconds(perMessage)) +
      (messages * 2 + probeSends) * prices.fairCall,
  };

  const keys = eventsPerSecond * seconds;
  const runs = keys / assumed.keysPerRun(eventsPerSecond);
  // Every relay sends every key; the FIFO queue drops the duplicates.
  const sends = (assumed.relays * keys) / fitted.keysPerSend(eventsPerSecond);
  const reconcile: CostPart = {
    name: "reconcile",
    calls: runs * 3 + sends,
    dollars: compute(runs, assumed.reconcileSeconds) + (sends + runs * 2) * prices.fifoCall,
  };

  const resyncKeys = ((clusters + workloads) * seconds) / (assumed.resyncMinutes * 60);
  const resyncRuns = resyncKeys / fitted.resyncKeysPerRun;
  const hops = resyncKeys / batch;
  const resync: CostPart = {
    name: "resync",
    calls: hops * 5 + resyncRuns * 3,
    dollars:
      hops * (3 * prices.standardCall + prices.fifoCall) +
      compute(hops, fitted.forwardSeconds, fitted.forwarderGb) +
      compute(resyncRuns, assumed.reconcileSeconds) +
      resyncRuns * 2 * prices.fifoCall,
  };

  const polls = (assumed.pollers * seconds) / assumed.pollSeconds;
  const logGb =
    ((messages + planned) * fitted.probeLogBytes + (runs + resyncRuns) * fitted.reconcileLogBytes) / 1e9 +
    assumed.relays * fitted.relayLogGb;
  const parts: readonly CostPart[] = [
    heartbeat,
    reconcile,
    { name: "relays", calls: 0, dollars: twoTasksDollars(assumed.relay) },
    resync,
    {
      name: "idle polls",
      calls: polls * assumed.polled.length,
      dollars: assumed.polled.reduce((sum, call) => sum + polls * call, 0),
    },
    { name: "logs", calls: 0, dollars: logGb * prices.logGb },
    { name: "metrics", calls: 0, dollars: assumed.metrics * prices.metricMonth },
    { name: "secrets", calls: 0, dollars: secrets * prices.secretMonth },
  ];
  return { parts, dollars: totalDollars(parts), alwaysOn: alwaysOnCosts(clusters) };
}

/** Returns the sum of the costs. */
export function totalDollars(parts: readonly CostPart[]): number {
  return parts.reduce((sum, { dollars }) => sum + dollars, 0);
}

/** Returns the cost of two replicas, sized for the number of clusters. */
function alwaysOnCosts(clusters: number): readonly CostPart[] {
  const size = clusters > 5_000 ? { vcpu: 1, gb: 2 } : { vcpu: 0.5, gb: 1 };
  const machine = (prices.t4gSmallHour + prices.ipv4Hour) * assumed.hours + 16 * prices.diskGbMonth;
  return [
    { name: `Fargate ${size.vcpu} vCPU, ${size.gb} GB, two`, calls: 0, dollars: twoTasksDollars(size) },
    { name: "EC2 t4g.small, two", calls: 0, dollars: 2 * machine },
  ];
}

/** Returns the cost of two Fargate tasks, each with a public IPv4 address. */
function twoTasksDollars({ vcpu, gb }: Readonly<{ vcpu: number; gb: number }>): number {
  return 2 * (vcpu * prices.vcpuHour + gb * prices.gbHour + prices.ipv4Hour) * assumed.hours;
}
