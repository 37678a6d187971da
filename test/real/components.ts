import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const kcpVersion = "v0.31.2";
export const kubernetesVersion = "v1.36.3";
export const helmVersion = "v3.22.0";

/** What a reader of the version should know beside it. */
export const kcpVersionNote =
  `kcp ${kcpVersion}, built from its published modules; seven k8s.io modules (cluster-bootstrap, code-generator, ` +
  "controller-manager, cri-api, cri-client, csi-translation-lib, endpointslice) come from upstream v0.35.1 instead of kcp's fork";

/** A program that is built from a Go module in `tools`. */
export type Component = Readonly<{
  name: "kcp" | "kubeall" | "helm" | "lua";
  /** The folder of the Go module. */
  folder: string;
  /** The Go package that is built. */
  package: string;
  ldflags: string;
  /** Other names it is called by; a multi-call binary dispatches on them. */
  links: readonly string[];
}>;

const tools = fileURLToPath(new URL("tools", import.meta.url));

/** kcp and kubectl each take their version from one of these two packages, the other servers from the second. */
const versionPackages = ["k8s.io/client-go/pkg/version", "k8s.io/component-base/version"];

function formatLdflags(version: Readonly<Record<string, string>>): string {
  const values = versionPackages.flatMap((name) =>
    Object.entries(version).map(([field, value]) => `-X ${name}.${field}=${value}`),
  );
  return ["-s", "-w", ...values].join(" ");
}

export const kcpComponent: Component = {
  name: "kcp",
  folder: join(tools, "kcp"),
  package: "github.com/kcp-dev/kcp/cmd/kcp",
  ldflags: formatLdflags({
    gitVersion: `v1.35.1+kcp-${kcpVersion}`,
    gitMajor: "1",
    gitMinor: "35",
    gitCommit: kcpVersion,
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
  }),
  links: [],
};

/** etcd, etcdutl, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok in one binary. */
export const kubeallComponent: Component = {
  name: "kubeall",
  folder: join(tools, "kubernetes"),
  package: ".",
  ldflags: formatLdflags({
    gitVersion: kubernetesVersion,
    gitMajor: "1",
    gitMinor: "36",
    gitCommit: "unknown",
    gitTreeState: "archive",
    buildDate: "2026-07-22T00:00:00Z",
  }),
  links: ["kubectl"],
};

/** Helm without a version of its own takes charts for Kubernetes 1.20. */
const helmKubernetesPackages = ["helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules"];

/** Lints and renders the chart in the tests of the release. */
export const helmComponent: Component = {
  name: "helm",
  folder: join(tools, "helm"),
  package: "helm.sh/helm/v3/cmd/helm",
  ldflags: [
    `-s -w -X helm.sh/helm/v3/internal/version.version=${helmVersion}`,
    ...helmKubernetesPackages.map((name) => `-X ${name}.k8sVersionMajor=1 -X ${name}.k8sVersionMinor=36`),
  ].join(" "),
  links: [],
};

/** Runs the health checks for Argo CD in the tests of the release: the interpreter that Argo CD contains. */
export const luaComponent: Component = {
  name: "lua",
  folder: join(tools, "lua"),
  package: "github.com/yuin/gopher-lua/cmd/glua",
  ldflags: "-s -w",
  links: [],
};

/** Where everything that is built is kept, outside the tree. */
export function cacheFolder(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const { TMC_REAL_CACHE: own, XDG_CACHE_HOME: xdg } = environment;
  if (own !== undefined && own !== "") return own;
  return join(xdg === undefined || xdg === "" ? join(homedir(), ".cache") : xdg, "tmc-real");
}

/** Names what a build would give: another name as soon as anything that goes into the build is different. */
export async function buildName(component: Component, goVersion: string): Promise<string> {
  const files = (await readdir(component.folder)).filter((name) => /^go\.(mod|sum)$|\.go$/.test(name)).toSorted();
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file}\n`).update(await readFile(join(component.folder, file)));
  hash.update([goVersion, component.package, component.ldflags].join("\n"));
  return `${component.name}-${hash.digest("hex").slice(0, 16)}`;
}
