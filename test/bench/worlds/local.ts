// What `tmc local` brings up: a kcp and two clusters, with the export installed and bound.
export { startEmbeddedServers as startWorld } from "../../../lib/cli/local/environment.ts";
