import { defaultRegistrationSettings, type RegistrationSettings } from "../registration/settings.ts";

/** How a controller works, whatever it works on. */
export type ControllerSettings = Readonly<{
  /** Every object is reconciled at least this often. */
  resyncSeconds: number;
  /** Keys that are worked on at once. */
  workers: number;
  /** Every cluster is probed about this often. */
  heartbeatSeconds: number;
  /** `lastHeartbeat` of an idle cluster is written at most this often. */
  heartbeatWriteSeconds: number;
  /** A reconcile that takes longer is cut off and tried again. */
  reconcileSeconds: number;
  /** How long what is under way may take at the end. */
  drainSeconds: number;
  /** Everything is listed again this often, so that a watch that missed something heals. */
  relistSeconds: number;
  /** Lets tenants name servers in private networks and on this machine. */
  allowPrivateEndpoints: boolean;
  /** How closely clusters are watched; the two times above take the place of those in it. */
  registration: RegistrationSettings;
}>;

export const defaultControllerSettings: ControllerSettings = {
  resyncSeconds: 30,
  workers: 5,
  heartbeatSeconds: defaultRegistrationSettings.intervalSeconds,
  heartbeatWriteSeconds: defaultRegistrationSettings.heartbeatWriteSeconds,
  reconcileSeconds: 30,
  drainSeconds: 10,
  relistSeconds: 1_800,
  allowPrivateEndpoints: false,
  registration: defaultRegistrationSettings,
};
