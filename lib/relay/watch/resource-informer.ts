import type { Clock } from "@tmc/kube/clock.ts";
import {
  type Informer,
  type InformerClient,
  type InformerHandler,
  startInformer,
} from "@tmc/kube/informer/informer.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { reconciledKinds } from "../../model/key.ts";
import type { RelayListener, Watched } from "../listener.ts";

/** Receives the objects of one collection. */
export type ResourceHandler = Pick<InformerHandler, "listed" | "absent" | "changed" | "deleted">;

export type ResourceInformerOptions = Readonly<{
  client: InformerClient;
  type: ResourceType;
  /** What the listener calls this collection. */
  what: Watched;
  /** A logical cluster, or the URL of an endpoint of all tenants. */
  scope: string;
  listener: RelayListener;
  /** Applied to each object before the handler gets it. */
  transform: (object: KubeObject) => KubeObject;
  /** Whether the type may be missing, or hidden from us. @default false */
  isOptional?: boolean | undefined;
  /** Awaited between the first page of a list and the second. @default nothing */
  beforeSecondPage?: (() => Promise<void>) | undefined;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
}>;

/** Starts the informer of one collection, and reports to the relay's listener how it goes. */
export function startResourceInformer(options: ResourceInformerOptions, handler: ResourceHandler): Informer {
  const { what, scope, listener } = options;
  const kind = reconciledKinds.find((each) => each === what);
  let isAbsent = false;
  const report = (error: Parameters<NonNullable<InformerHandler["absent"]>>[0] | undefined): void => {
    if (isAbsent === (error !== undefined)) return;
    isAbsent = error !== undefined;
    listener.absent?.({ what, scope, error });
  };
  const informer = startInformer(options, {
    listed: (objects, list) => {
      listener.alive?.(what, scope);
      if (kind !== undefined) listener.relisted?.(kind, scope);
      report(undefined);
      handler.listed(objects, list);
    },
    absent: (error, list) => {
      listener.alive?.(what, scope);
      report(error);
      handler.absent?.(error, list);
    },
    changed: (object) => {
      listener.alive?.(what, scope);
      handler.changed(object);
    },
    deleted: (object) => {
      listener.alive?.(what, scope);
      handler.deleted(object);
    },
    bookmark: () => listener.alive?.(what, scope),
    opened: ({ isResumed }) => {
      listener.alive?.(what, scope);
      if (isResumed && kind !== undefined) listener.restarted?.(kind, scope);
    },
    failed: ({ error, retryInMs }) => listener.failed?.({ what, scope, error, retryInMs }),
  });
  return {
    ...informer,
    get listsBegun() {
      return informer.listsBegun;
    },
    get downMs() {
      return informer.downMs;
    },
    stop: async () => {
      await informer.stop();
      listener.ended?.(what, scope);
    },
  };
}
