// Starts an endpoint, says its process group, and keeps it until it is killed.
import { startEndpoint } from "./endpoint.ts";

const { groups } = await startEndpoint();
process.stdout.write(`${groups.join(" ")}\n`);
setInterval(() => {}, 60_000);
