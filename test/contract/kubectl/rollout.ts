import { expect, it } from "vitest";
import { type KubectlRoom, type MakeKubectlRoom, table } from "./kubectl-room.ts";
import { aDeployment } from "./manifests.ts";

export function kubectlRolloutCases(room: MakeKubectlRoom): void {
  const running = async (): Promise<KubectlRoom & { images: () => Promise<string> }> => {
    const here = await room();
    await here.ok("create -f -", { input: aDeployment("web", 2) });
    await here.ok("rollout status deployment/web --timeout=30s");
    return {
      ...here,
      images: () => here.ok("get deploy web -o jsonpath={.spec.template.spec.containers[*].image}"),
    };
  };
  const rolledOut = 'deployment "web" successfully rolled out\n';

  it("says when a deployment is rolled out", async () => {
    const { ok } = await running();
    expect(await ok("rollout status deployment/web --timeout=30s")).toBe(rolledOut);
  });

  it("rolls a new image out", async () => {
    const { ok, images } = await running();
    expect(await ok("set image deployment/web web=nginx:2")).toBe("deployment.apps/web image updated\n");
    expect(await ok("rollout status deployment/web --timeout=30s")).toMatch(new RegExp(`${rolledOut}$`));
    expect(await images()).toBe("nginx:2 busybox:1");
    expect(table(await ok("get deploy web"))).toMatchObject([{ READY: "2/2", "UP-TO-DATE": "2", AVAILABLE: "2" }]);
  });

  it("keeps a history and goes back in it", async () => {
    const { ok, images } = await running();
    await ok("set image deployment/web web=nginx:2");
    await ok("rollout status deployment/web --timeout=30s");
    expect(await ok("rollout history deployment/web")).toBe(
      "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n",
    );
    expect(await ok("rollout history deployment/web --revision=1")).toMatch(/Image:\s+nginx:1/);
    expect(await ok("rollout undo deployment/web")).toBe("deployment.apps/web rolled back\n");
    await ok("rollout status deployment/web --timeout=30s");
    expect(await images()).toBe("nginx:1 busybox:1");
    expect(await ok("rollout history deployment/web")).toBe(
      "deployment.apps/web \nREVISION  CHANGE-CAUSE\n2         <none>\n3         <none>\n\n",
    );
  });

  it("restarts", async () => {
    const { ok } = await running();
    const pods = async () =>
      (await ok("get pods -o name -l app=web --field-selector=status.phase=Running")).split("\n");
    const before = await pods();
    expect(await ok("rollout restart deployment/web")).toBe("deployment.apps/web restarted\n");
    await ok("rollout status deployment/web --timeout=30s");
    expect(await ok("get deploy web -o jsonpath={.spec.template.metadata.annotations}")).toContain(
      "kubectl.kubernetes.io/restartedAt",
    );
    await ok(`wait --for=delete ${before.filter(Boolean).join(" ")} --timeout=40s`);
    expect((await pods()).filter((name) => name !== "" && before.includes(name))).toEqual([]);
  });

  it("pauses and resumes", async () => {
    const { ok, refused } = await running();
    await ok("set image deployment/web web=nginx:2");
    await ok("rollout status deployment/web --timeout=30s");
    expect(await ok("rollout pause deployment/web")).toBe("deployment.apps/web paused\n");
    expect(await refused("rollout pause deployment/web")).toBe('error: deployments.apps "web" is already paused\n');
    await ok("set image deployment/web web=nginx:3");
    expect(table(await ok("get rs -l app=web"))).toHaveLength(2);
    expect(await refused("rollout undo deployment/web")).toContain("you cannot rollback a paused deployment");
    expect(await ok("rollout resume deployment/web")).toBe("deployment.apps/web resumed\n");
    expect(await ok("rollout status deployment/web --timeout=30s")).toMatch(new RegExp(`${rolledOut}$`));
    expect(table(await ok("get rs -l app=web"))).toHaveLength(3);
  });

  it("scales, and waits until it is so", async () => {
    const { ok } = await running();
    await ok("scale deployment web --replicas=3");
    await ok("wait deployment/web --for=jsonpath={.status.availableReplicas}=3 --timeout=30s");
    expect(table(await ok("get pods -l app=web"))).toHaveLength(3);
  });

  it("rolls stateful sets and daemon sets out", async () => {
    const { ok } = await room();
    const labels = { app: "s" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "a", image: "x:1" }] } };
    const spec = { selector: { matchLabels: labels }, template };
    await ok("apply -f -", {
      input: [
        {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name: "s" },
          spec: { ...spec, serviceName: "s", replicas: 2 },
        },
        { apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "d" }, spec },
      ],
    });
    expect(await ok("rollout status statefulset/s --timeout=40s")).toMatch(
      /partitioned roll out complete|statefulset rolling update complete 2 pods at revision/,
    );
    expect(await ok("rollout status daemonset/d --timeout=40s")).toContain('daemon set "d" successfully rolled out\n');
    expect(table(await ok("get sts"))).toMatchObject([{ NAME: "s", READY: "2/2" }]);
  });

  it("runs a job to its end", async () => {
    const { ok } = await room();
    await ok("create job once --image=busybox:1");
    expect(await ok("wait job/once --for=condition=Complete --timeout=40s")).toBe("job.batch/once condition met\n");
    expect(table(await ok("get job once"))).toMatchObject([{ NAME: "once", STATUS: "Complete", COMPLETIONS: "1/1" }]);
  });
}
