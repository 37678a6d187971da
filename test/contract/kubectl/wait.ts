import { expect, it } from "vitest";
import type { MakeKubectlRoom } from "./kubectl-room.ts";
import { aConfigMap, aDeployment } from "./manifests.ts";

export function kubectlWaitCases(room: MakeKubectlRoom): void {
  it("waits until a field has a value", async () => {
    const { ok } = await room();
    await ok("create cm m");
    const patch = (done: string) => ok(`patch cm m --type=merge -p {"data":{"done":"${done}"}}`);
    const [waited] = await Promise.all([
      ok("wait cm/m --for=jsonpath={.data.done}=yes --timeout=30s"),
      patch("no").then(() => patch("yes")),
    ]);
    expect(waited).toBe("configmap/m condition met\n");
  });

  it("waits until a field is there", async () => {
    const { ok } = await room();
    await ok("create cm m");
    const [waited] = await Promise.all([
      ok("wait cm/m --for=jsonpath={.data.done} --timeout=30s"),
      ok('patch cm m --type=merge -p {"data":{"done":"x"}}'),
    ]);
    expect(waited).toBe("configmap/m condition met\n");
  });

  it("waits until an object is there", async () => {
    const { ok } = await room();
    const [waited] = await Promise.all([ok("wait cm/m --for=create --timeout=30s"), ok("create cm m")]);
    expect(waited).toBe("configmap/m condition met\n");
  });

  it("waits until an object is gone", async () => {
    const { ok, refused } = await room();
    await ok("create -f -", { input: aConfigMap("m", {}, { finalizers: ["example.com/hold"] }) });
    await ok("delete cm m --wait=false");
    const [waited] = await Promise.all([
      ok("wait cm/m --for=delete --timeout=30s"),
      ok('patch cm m --type=merge -p {"metadata":{"finalizers":null}}'),
    ]);
    // It says nothing when the object is gone before it has looked.
    expect(["configmap/m condition met\n", ""]).toContain(waited);
    expect(await refused("get cm m")).toContain("not found");
  });

  it("takes an object that is not there for gone", async () => {
    const { run } = await room();
    expect(await run("wait cm/m --for=delete --timeout=5s")).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("waits for a condition of a deployment", async () => {
    const { ok, kind } = await room();
    await ok("create -f -", { input: aDeployment("web", 1) });
    const status = JSON.stringify({ status: { conditions: [{ type: "Available", status: "True" }] } });
    const [waited] = await Promise.all([
      ok("wait deployment/web --for=condition=Available --timeout=30s"),
      // Nothing runs it on kcp.
      kind === "kcp" && ok(`patch deploy web --subresource=status --type=merge -p ${status}`),
    ]);
    expect(waited).toBe("deployment.apps/web condition met\n");
  });

  it("says what it has waited for in vain", async () => {
    const { ok, refused } = await room();
    await ok("create cm m");
    expect(await refused("wait cm/m --for=jsonpath={.data.a}=1 --timeout=100ms")).toBe(
      "error: timed out waiting for the condition on configmaps/m\n",
    );
    expect(await refused("wait cm/gone --for=condition=Ready --timeout=5s")).toBe(
      'Error from server (NotFound): configmaps "gone" not found\n',
    );
  });
}
