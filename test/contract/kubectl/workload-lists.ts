import { describe, expect, it } from "vitest";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import type { KubectlRoom, MakeKubectlRoom } from "./kubectl-room.ts";
import { container, type Manifest, manifests, podSpec, type WorkloadKind } from "./workloads.ts";

// kcp merges strategic patches of the types that we export by our schemas, which cannot say "merge this list by that
// key". A schema that describes such a list would have kcp replace it by the patch's fragment, without a word. So here
// every way in which kubectl changes a workload is tried, and the whole object is compared.

type Change = Readonly<{
  of: WorkloadKind;
  /** What is done, to a manifest or to what the server holds. */
  change: (object: Manifest) => void;
  /** The command that does it; without one, the changed manifest is applied. */
  command?: string;
  env?: Readonly<Record<string, string>>;
  /** kcp does it as a cluster does; otherwise it must refuse it, change nothing and name the way out. */
  works?: "everywhere" | "on clusters" | "only with --server-side on kcp";
}>;

const image: Change["change"] = (object) => {
  container(object).image = "nginx:2";
};
const templated: readonly WorkloadKind[] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CronJob"];

const refusedByKcp: Readonly<Record<string, Change>> = {
  ...Object.fromEntries(templated.map((of) => [`a second apply of a ${of} with another image`, { of, change: image }])),
  "a second apply of a Job with another image": {
    of: "Job",
    change: image,
    works: "only with --server-side on kcp", // a cluster lets nobody change a job's template
  },
  "a second apply with another variable": {
    of: "Deployment",
    change: (object) => {
      container(object).env = [
        { name: "A", value: "1" },
        { name: "B", value: "two" },
      ];
    },
  },
  "a second apply with one port less": {
    of: "Deployment",
    change: (object) => {
      container(object).ports = [{ name: "http", containerPort: 80, protocol: "TCP" }];
    },
  },
  "a second apply with one container more": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).containers.push({
        name: "new",
        image: "busybox:2",
        // What a cluster would fill in.
        imagePullPolicy: "IfNotPresent",
        resources: {},
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
      });
    },
  },
  "a second apply with one container less": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).containers.pop();
    },
  },
  "a second apply with another volume": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).volumes.push({ name: "more", emptyDir: {} });
    },
  },
  "a second apply with another init container": {
    of: "StatefulSet",
    change: (object) => {
      for (const each of podSpec(object).initContainers) each.image = "busybox:2";
    },
  },
  "a second apply with another pull secret": {
    of: "DaemonSet",
    change: (object) => {
      podSpec(object).imagePullSecrets = [{ name: "registry" }, { name: "second" }];
    },
  },
  "a second apply with another host alias": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).hostAliases = [
        { ip: "10.1.1.1", hostnames: ["db"] },
        { ip: "10.1.1.2", hostnames: ["cache"] },
      ];
    },
  },
  "a second apply with another spread constraint": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).topologySpreadConstraints = [
        {
          maxSkew: 2,
          topologyKey: "zone",
          whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: { matchLabels: { app: "web" } },
        },
      ];
    },
  },
  "a second apply with another security context": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).securityContext = { runAsUser: 1001, fsGroup: 2000 };
    },
  },
  "a second apply with another port of a Service": {
    of: "Service",
    change: ({ spec }) => {
      spec.ports = [
        { name: "http", port: 81, targetPort: "http", protocol: "TCP" },
        { name: "metrics", port: 9090, targetPort: 9090, protocol: "TCP" },
      ];
    },
  },
  "kubectl set image": { of: "Deployment", change: image, command: "set image deployment/web web=nginx:2" },
  "kubectl set image of a CronJob": { of: "CronJob", change: image, command: "set image cronjob/web web=nginx:2" },
  "kubectl set env": {
    of: "Deployment",
    change: (object) => {
      container(object).env = [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
        { name: "C", value: "3" },
      ];
    },
    command: "set env deployment/web -c web C=3",
  },
  "kubectl set resources": {
    of: "Deployment",
    change: (object) => {
      container(object).resources = { requests: { cpu: "10m" }, limits: { memory: "1Gi" } };
    },
    command: "set resources deployment/web -c web --limits=memory=1Gi",
  },
  "kubectl edit of an image": {
    of: "Deployment",
    change: image,
    command: "edit deployment web",
    env: { KUBE_EDITOR: "sed -i s/nginx:1/nginx:2/" },
  },
  "kubectl edit of a Service's port": {
    of: "Service",
    change: ({ spec }) => {
      spec.ports = [
        { name: "http", port: 80, targetPort: "http", protocol: "TCP" },
        { name: "metrics", port: 9090, targetPort: 9091, protocol: "TCP" },
      ];
    },
    command: "edit service web",
    env: { KUBE_EDITOR: "sed -i 's/targetPort: 9090/targetPort: 9091/'" },
  },
  "a strategic patch of a container": {
    of: "Deployment",
    change: image,
    command: 'patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}',
  },
  "a strategic patch of a Service's port": {
    of: "Service",
    change: ({ spec }) => {
      spec.ports = [
        { name: "http", port: 80, targetPort: 8080, protocol: "TCP" },
        { name: "metrics", port: 9090, targetPort: 9090, protocol: "TCP" },
      ];
    },
    command: 'patch service web -p {"spec":{"ports":[{"port":80,"targetPort":8080}]}}',
  },
};

const doneEverywhere: Readonly<Record<string, Change>> = {
  "a second apply with other labels and annotations": {
    of: "Deployment",
    change: ({ metadata }) => {
      metadata.labels = { app: "web", tier: "front" };
      metadata.annotations = { team: "us" };
    },
  },
  "a second apply with another node selector and toleration": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).nodeSelector = { disk: "hdd" };
      podSpec(object).tolerations = [{ key: "other", operator: "Exists" }];
    },
  },
  "a second apply with another strategy": {
    of: "Deployment",
    change: ({ spec }) => {
      spec.strategy = { type: "Recreate" };
    },
  },
  "a second apply of another schedule": {
    of: "CronJob",
    change: ({ spec }) => {
      spec.schedule = "0 0 2 2 *";
    },
  },
  "a second apply of another parallelism": {
    of: "Job",
    change: ({ spec }) => {
      spec.parallelism = 3;
    },
  },
  "a second apply of a Service's selector": {
    of: "Service",
    change: ({ spec }) => {
      spec.selector = { app: "other" };
    },
  },
  "a second apply of an Ingress's rules": {
    of: "Ingress",
    change: ({ spec }) => {
      spec.rules = [{ host: "c.example.com" }];
      delete spec.tls;
      spec.defaultBackend = { service: { name: "web", port: { number: 80 } } };
    },
  },
  "a second apply of an autoscaler's metrics": {
    of: "HorizontalPodAutoscaler",
    change: ({ spec }) => {
      spec.maxReplicas = 9;
      spec.metrics = [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
      ];
    },
  },
  "kubectl scale": {
    of: "StatefulSet",
    change: ({ spec }) => {
      spec.replicas = 2;
    },
    command: "scale statefulset web --replicas=2",
  },
  "kubectl rollout pause": {
    of: "Deployment",
    change: ({ spec }) => {
      spec.paused = true;
    },
    command: "rollout pause deployment/web",
  },
  "kubectl set serviceaccount": {
    of: "Deployment",
    change: (object) => {
      const pod = podSpec(object);
      pod.serviceAccountName = "robot";
      if ("serviceAccount" in pod) pod.serviceAccount = "robot"; // the field's old name, which clusters keep the same
    },
    command: "set serviceaccount deployment/web robot",
  },
  "kubectl label": {
    of: "Deployment",
    change: ({ metadata }) => {
      metadata.labels = { app: "web", tier: "front" };
    },
    command: "label deployment web tier=front",
  },
  "kubectl edit of a number": {
    of: "Deployment",
    change: ({ spec }) => {
      spec.minReadySeconds = 5;
    },
    command: "edit deployment web",
    env: { KUBE_EDITOR: "sed -i 's/^spec:$/spec:\\n  minReadySeconds: 5/'" },
  },
  "a merge patch": {
    of: "Deployment",
    change: (object) => {
      podSpec(object).terminationGracePeriodSeconds = 5;
    },
    command: 'patch deployment web --type=merge -p {"spec":{"template":{"spec":{"terminationGracePeriodSeconds":5}}}}',
  },
  "a JSON patch of an image": {
    of: "Deployment",
    change: image,
    command:
      'patch deployment web --type=json -p [{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:2"}]',
  },
};

export function kubectlWorkloadCases(room: MakeKubectlRoom, kind: "kcp" | "cluster"): void {
  const applied = async (of: WorkloadKind): Promise<KubectlRoom & { look: () => Promise<Manifest> }> => {
    const here = await room();
    await here.ok("apply -f -", { input: manifests[of]() });
    return { ...here, look: () => look(here, of) };
  };
  const carryOut = ({ run }: KubectlRoom, { of, change, command, env }: Change) => {
    if (command !== undefined) return run(command, env === undefined ? {} : { env });
    return run("apply -f -", { input: changed(manifests[of](), change) });
  };

  describe("refused by kcp with a way out, done by clusters, and never a field lost", () => {
    it.for(Object.entries(refusedByKcp))("%s", async ([, row]) => {
      const here = await applied(row.of);
      const before = await here.look();
      const { code, stdout, stderr } = await carryOut(here, row);
      const after = await here.look();
      const possible = kind === "cluster" && row.works !== "only with --server-side on kcp";
      expect({ code, stdout, stderr }).toMatchObject({ code: possible ? 0 : 1 });
      if (!possible) expect(spoken(after)).toEqual(spoken(before));
      else expect(spoken(after)).toEqual(spoken(changed(before, row.change)));
      if (kind === "cluster") return;

      expect(after).toEqual(before);
      expect(stderr).toContain("unable to find api field");
      expect(stderr).toContain('use "kubectl apply --server-side" to change');
      await here.ok("apply --server-side -f -", { input: changed(manifests[row.of](), row.change) });
      expect(spoken(await here.look())).toEqual(spoken(changed(before, row.change)));
    });
  });

  describe("done by kcp and by clusters alike, and never a field lost", () => {
    it.for(Object.entries(doneEverywhere))("%s", async ([, row]) => {
      const here = await applied(row.of);
      const before = await here.look();
      const { code, stdout, stderr } = await carryOut(here, row);
      expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
      expect(spoken(await here.look())).toEqual(spoken(changed(before, row.change)));
    });

    it.for(["Deployment", "StatefulSet", "DaemonSet"] as const)("kubectl rollout restart of a %s", async (of) => {
      const here = await applied(of);
      const before = await here.look();
      await here.ok(`rollout restart ${of}/web`);
      const restartedAt: unknown = expect.stringMatching(/^\d{4}-/);
      const template = { annotations: { note: "kept", "kubectl.kubernetes.io/restartedAt": restartedAt } };
      expect(spoken(await here.look())).toEqual(
        spoken(changed(before, ({ spec }) => Object.assign(Object(spec.template).metadata, template))),
      );
    });

    it.for(Object.keys(manifests) as WorkloadKind[])(
      "a second apply of the same %s, by client and by server",
      async (of) => {
        const here = await applied(of);
        const before = await here.look();
        expect(await here.ok("apply -f -", { input: manifests[of]() })).toMatch(/web unchanged\n$/);
        expect(spoken(await here.look())).toEqual(spoken(before));
        expect(await here.ok("apply --server-side -f -", { input: manifests[of]() })).toMatch(
          /web serverside-applied\n$/,
        );
        expect(spoken(await here.look())).toEqual(spoken(before));
      },
    );

    it.for([...templated, "Service"] as const)("a change of a %s that is always applied by the server", async (of) => {
      const here = await room();
      const apply = (input: Manifest) => here.ok("apply --server-side -f -", { input });
      await apply(manifests[of]());
      const before = await look(here, of);
      const row = of === "Service" ? refusedByKcp["a second apply with another port of a Service"]?.change : image;
      if (row === undefined) throw new Error("no such row");
      await apply(changed(manifests[of](), row));
      expect(spoken(await look(here, of))).toEqual(spoken(changed(before, row)));
    });
  });
}

/** The whole object as the server holds it. */
function look({ client, namespace }: KubectlRoom, of: WorkloadKind): Promise<Manifest> {
  const type = workloadTypes.find(({ kind }) => kind === of);
  if (type === undefined) throw new Error(`no workload type ${of}`);
  const { group, version, plural } = type;
  return client.get<Manifest>({ type: { group, version, plural }, namespace, name: "web" });
}

function changed(object: Manifest, change: Change["change"]): Manifest {
  const copy: Manifest = JSON.parse(JSON.stringify(object));
  change(copy);
  return copy;
}

/** What a person has said of an object, or a server has filled in for good; not what controllers and kubectl note on it. */
function spoken({ metadata, spec }: Manifest): object {
  const noted = /^(kubectl\.kubernetes\.io\/last-applied|deployment\.kubernetes\.io|deprecated\.daemonset|kcp\.io\/)/;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => !noted.test(key));
  return { labels: metadata.labels, annotations: Object.fromEntries(annotations), spec };
}
