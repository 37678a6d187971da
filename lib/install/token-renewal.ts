import type { TokenFacts } from "./account-token.ts";

/** What is known of a kubeconfig that was written before. */
export type WrittenFacts = Readonly<{ server: string; ca: string | undefined; token: TokenFacts | undefined }>;

export type RenewalFacts = Readonly<{
  /** Undefined when there is none, or none that can be read. */
  written: WrittenFacts | undefined;
  server: string;
  ca: string | undefined;
  /** The service account that there is now. */
  uid: string;
  nowMs: number;
}>;

/**
 * Decides whether a kubeconfig has to be written anew, and why; undefined when the one that is there will do.
 *
 * A token is renewed when half of its life is over: whoever runs `tmc bootstrap` more often than that never meets a token
 * that has ended, and one that was handed out stays good while its successor is brought to where it is used.
 */
export function decideRenewal({ written, server, ca, uid, nowMs }: RenewalFacts): string | undefined {
  if (written === undefined) return "there is none";
  if (written.server !== server || written.ca !== ca) return "it is for another server";
  if (written.token === undefined || written.token.uid !== uid) return "it is for another account";
  const { issuedMs, expiresMs } = written.token;
  return nowMs - issuedMs >= (expiresMs - issuedMs) / 2 ? "its token is half through its life" : undefined;
}
