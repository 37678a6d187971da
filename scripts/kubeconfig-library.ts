// Replaces @kubernetes/client-node in the bundle of the command line, which uses only its kubeconfigs. A dynamic import of the
// whole library could not be reduced: it would add 3 MB of generated API classes, and 100 ms to every command.
export { bufferFromFileOrString, KubeConfig } from "../node_modules/@kubernetes/client-node/dist/config.js";
