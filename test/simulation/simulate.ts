import { createControllers } from "./controllers.ts";
import { aDesiredDeployment, placeLabel } from "./desired-workloads.ts";
import { createSimulation } from "./environment.ts";
import { needAllTypes } from "./features/features.ts";
import { changeForeignObject, serveCustomType } from "./foreign-objects.ts";
import { checkClaims, checkDeal, checkDecisions, checkRest } from "./laws.ts";
import { changeByHand } from "./manual-change.ts";
import type { Mode } from "./mode.ts";
import type { Violation } from "./monitor.ts";
import { changeOriginal, checkMirrors, confirmMirrors } from "./originals.ts";
import { answersOf, areAllReady, differencesOf, type Outcome, outcomeOf, takeSnapshot } from "./outcome.ts";
import { createPeople } from "./people.ts";
import type { Sabotage } from "./sabotage.ts";
import { generateScenario, type Scenario } from "./scenario.ts";
import { createSeeded } from "./seeded.ts";
import { createServerFaults, isServerFault, stepsThatCount } from "./server-faults.ts";
import { physicalNames, type Servers, startMs } from "./servers.ts";
import { checkReadsAtRest, checkSync, type SyncOutcome, syncDifferencesOf, syncOutcomeOf } from "./sync-laws.ts";
import { createTenancy } from "./tenancy.ts";
import { createUser } from "./user.ts";
import { checkFailback } from "./workload-laws.ts";

export type SimulateOptions = Readonly<{
  servers: Servers;
  /** Breaks the controller, to see that a law notices. */
  sabotage?: Sabotage | undefined;
  /** The run without faults, if it is known from an earlier call for the same scenario. */
  oracle?: Run | undefined;
  /** In place of the seed's own. */
  scenario?: Scenario | undefined;
  /** Features that the seed has in any case. */
  features?: readonly string[] | undefined;
  /** The mode of the seed, in place of the one that it chooses. */
  mode?: Mode | undefined;
  onLog?: ((line: string) => void) | undefined;
}>;

/** What one run of a scenario has come to. */
export type Run = Readonly<{
  outcome: Outcome;
  answers: Outcome;
  sync: SyncOutcome;
  violations: readonly Violation[];
  digest: string;
  writes: number;
  simulatedMs: number;
}>;

export type Result = Readonly<{
  seed: number;
  violations: readonly Violation[];
  /** One text for all that happened: the same whenever this seed runs. */
  digest: string;
  scenario: Scenario;
  /** Writes that controllers sent, to kcp and to clusters. */
  writes: number;
  /** How much time has passed in the simulated world. */
  simulatedMs: number;
}>;

/** How long the world is given after the last fault, with all clusters up, and then with each as it is in the end. */
const recoveryMs = 100_000;
/** Longer than anything is waited for: lists, rounds, and the end of a registration. */
const settlingMs = 180_000;
/** Longer than any cluster is borne that has gone. */
const losingMs = 540_000;
/** Where nothing is compared that depends on time, it is enough that every cluster is known for what it is. */
const hurriedMs = 150_000;
/** Three probes, half a minute apart. */
const usualDetectionMs = 90_000;
const answeringMs = 60_000;
const neighbourMs = 60_000;
const confirmingMs = 60_000;
const equalPlacements = 12;
/**
 * Only what does not depend on the way there is compared, so without faults everything may happen at once. One of so many
 * seeds takes its time there too, and by that holds the laws against the fault-free run as well.
 */
const unhurried = 10;

/** Runs the scenario of a seed with its faults and without, and holds the one against the other and both against the laws. */
export async function simulate(seed: number, options: SimulateOptions): Promise<Result> {
  const scenario = options.scenario ?? generateScenario(seed, options.features, options.mode);
  const oracle = options.oracle ?? (await runWithoutFaults(scenario, options));
  const found = await runScenario(scenario, options, "with faults");
  return {
    seed,
    scenario,
    violations: violationsOf(oracle, found),
    digest: `${oracle.digest}-${found.digest}`,
    writes: found.writes,
    simulatedMs: oracle.simulatedMs + found.simulatedMs,
  };
}

/** The run that the runs with faults of a scenario are compared with. */
export function runWithoutFaults(scenario: Scenario, { servers }: Pick<SimulateOptions, "servers">): Promise<Run> {
  return runScenario(scenario, { servers }, "without faults");
}

/** Everything that is wrong with a run, held against the fault-free one. */
export function violationsOf(oracle: Run, found: Run): readonly Violation[] {
  return [
    ...oracle.violations.map((violation) => ({ ...violation, message: `without faults: ${violation.message}` })),
    ...found.violations,
    ...differencesOf(oracle.outcome, found.outcome).map((message) => ({ law: 1, atMs: found.simulatedMs, message })),
    ...differencesOf(oracle.answers, found.answers).map((message) => ({ law: 1, atMs: found.simulatedMs, message })),
    ...syncDifferencesOf(oracle.sync, found.sync).map((message) => ({ law: 1, atMs: found.simulatedMs, message })),
  ];
}

/** Runs a scenario once, from its first step until everything has been checked. */
export async function runScenario(
  scenario: Scenario,
  { servers: given, sabotage, onLog }: SimulateOptions,
  purpose: "with faults" | "without faults",
): Promise<Run> {
  const servers = needAllTypes(scenario.features) ? await given.withAllTypes() : given;
  const isFaulty = purpose === "with faults";
  const isHurried = !isFaulty && scenario.seed % unhurried !== 0;
  await servers.restart(createSeeded(scenario.seed).fork(purpose));
  const world = createSimulation({ servers, scenario, purpose, onLog: isFaulty ? onLog : undefined });
  const { clock } = servers;
  const { monitor } = world;
  const controllers = createControllers(world, sabotage);
  const user = createUser(world);
  const tenancy = createTenancy(world, user);
  const people = createPeople(world);
  if (scenario.features.includes("foreign-objects")) await serveCustomType(servers);
  const serverFaults = createServerFaults(world, { user, people, seeded: world.seeded.fork("server faults") });
  const steps = isFaulty ? scenario.steps : stepsThatCount(scenario.steps);
  const pass = (ms: number): Promise<void> => clock.runUntil(clock.now() + ms);

  controllers.begin();
  if (isHurried) {
    const inputs = steps.flatMap((step) => ("input" in step ? [step.input] : []));
    for (const input of inputs) if (input.kind === "original") changeOriginal(world, input);
    user.doAll(inputs);
  } else {
    for (const step of steps) {
      await clock.runUntil(startMs + step.atMs);
      if ("input" in step) {
        if (step.input.kind === "cluster") controllers.setCluster(step.input.cluster, step.input.state);
        else if (step.input.kind === "hand") changeByHand(world, step.input);
        else if (step.input.kind === "bind" || step.input.kind === "unbind") tenancy.apply(step.input);
        else if (step.input.kind === "original") changeOriginal(world, step.input);
        else if (step.input.kind === "foreign") changeForeignObject(world, step.input);
        else if (step.input.kind === "answer") people.answer(step.input);
        else user.doAll([step.input]);
      } else if (!isFaulty) continue;
      else if (isServerFault(step.fault)) serverFaults.happen(step.fault);
      else controllers.happen(step.fault);
    }
    await clock.runUntil(startMs + scenario.endMs);
  }

  // A cluster that does not lose Ready as soon is known for what it is later.
  const { failuresToUnready } = scenario;
  const laterMs = Math.max(0, failuresToUnready * scenario.settings.heartbeatSeconds * 1000 - usualDetectionMs);
  controllers.cease();
  serverFaults.cease();
  for (const cluster of physicalNames) controllers.setCluster(cluster, "up");
  await pass(recoveryMs);
  // A tenant that was unbound until now has only begun to create its objects again.
  if (!isHurried && scenario.steps.some((step) => "input" in step && step.input.kind === "unbind"))
    await pass(recoveryMs);
  for (const cluster of physicalNames) controllers.setCluster(cluster, scenario.finalStates[cluster]);
  await pass((isHurried ? hurriedMs : settlingMs) + laterMs);
  // A cluster that is not Ready, be it for want of credentials, is borne for a while by those who use it.
  if (!isHurried && !areAllReady(await takeSnapshot(servers, world.judged))) await pass(losingMs - settlingMs);
  if (tenancy.open > 0) monitor.broken(1, `${tenancy.open} tenants were never bound again`);
  if (user.open > 0) monitor.broken(1, `${user.open} changes by users were never accepted`);

  const settled = await takeSnapshot(servers, world.judged);
  const causesLag = world.settings.heartbeatWriteSeconds * 1000 > settlingMs;
  const outcome = outcomeOf(settled, { causesLag });
  checkClaims(world, settled);
  checkFailback(world);
  if (!isHurried) checkDecisions(world, settled, world.seeded.fork("shuffle"));
  if (!scenario.isCrowded) checkMirrors(world);
  // What is held goes once a user says so; only then is the result that of the fault-free run.
  if ((await confirmMirrors(world, { isConfirmed: true })) > 0) {
    await pass(confirmingMs);
    await confirmMirrors(world, { isConfirmed: false });
    await pass(confirmingMs);
    if ((await confirmMirrors(world, { isConfirmed: true })) > 0)
      monitor.broken(1, "confirmed deletions are still held");
    checkMirrors(world);
  }
  if (!scenario.isCrowded) checkSync(world);
  const sync: SyncOutcome = scenario.isCrowded ? new Map() : syncOutcomeOf(world);
  let answers: Outcome = new Map();
  if (scenario.ending === "anew" || scenario.ending === "deal") {
    if (scenario.ending === "anew") user.placeAnew();
    else user.placeEqual(equalPlacements);
    await pass(answeringMs);
    const answered = await takeSnapshot(servers, world.judged);
    if (scenario.ending === "anew") answers = answersOf(answered);
    else checkDeal(world, answered);
    checkDecisions(world, answered, world.seeded.fork("shuffle again"));
    if (!scenario.isCrowded) checkSync(world);
  }

  if (isFaulty && scenario.restMs > 0) {
    // At rest people answer nothing any more, and what follows from their last answers is done.
    people.end();
    if (scenario.features.includes("confirmations")) await pass(confirmingMs);
    // What is held back says of how many it is one, and hears of the others that went by the next round only.
    if (scenario.alwaysAllowed < 1_000) await pass(scenario.settings.resyncSeconds * 1000);
    const rest = monitor.beginRest();
    await pass(scenario.restMs);
    checkRest(world, rest, await takeSnapshot(servers, world.judged), scenario);
    if (!scenario.isCrowded) checkReadsAtRest(world, rest);
    const isNeighbourly = world.judged.length === servers.tenants.length;
    const [noisy = "", quiet = ""] = servers.tenants;
    const works = monitor.beginNeighbour(quiet);
    const edits = isNeighbourly ? 10 : 0;
    const tenant = servers.tenants.indexOf(noisy);
    // Its copies come and go on clusters that the other tenant has too.
    const workload = aDesiredDeployment(world.seeded.fork("noise"), "shop", {
      name: "noise",
      places: ["noise"],
      clusters: ["nowhere"],
    });
    user.doAll([{ kind: "apply", tenant, name: "noise", desired: workload }]);
    for (let index = 0; index < edits; index++) {
      const labelSelector = { matchLabels: { [placeLabel]: "noise" } };
      const spec = { strategy: "Spread", workloadSelector: { labelSelector, namespaces: ["shop"] } } as const;
      user.doAll([{ kind: "place", tenant, name: "noise", desired: { annotations: {}, spec } }]);
      await pass(neighbourMs / edits);
      user.doAll([{ kind: "unplace", tenant, name: "noise" }]);
    }
    for (const { key, reason } of works()) {
      if (reason === "heartbeat" || reason === "resync" || reason === "requeue") continue;
      // A list of the cluster finds a copy that a restore brought back, each time.
      if (monitor.clusters.hasForgotten(quiet, key)) continue;
      monitor.broken(4, `${key.kind} ${key.name} of the quiet tenant was worked on: ${reason}`);
    }
  }
  people.end();
  controllers.end();
  monitor.end();
  return {
    outcome,
    answers,
    sync,
    violations: [...monitor.violations],
    digest: world.digest(),
    writes: controllers.writes,
    simulatedMs: world.nowMs(),
  };
}
