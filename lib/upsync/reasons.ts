/** Why upsync does not do all that a registration asks for, in one word each; docs/reasons.md explains them. */
export const upsyncReasons = {
  Upsynced: "Everything that was born on the cluster and is opted in is in the workspace.",
  TypeNotOffered: "A type in `spec.upsync` is none that TMC offers itself, so it may not write it in the workspace.",
  TypeNotServed: "The cluster does not serve a type in `spec.upsync`; it heals when it does.",
  ListForbidden: "The cluster does not let TMC list a type in `spec.upsync`; the message has its words.",
  NamespaceMissing:
    "An object's namespace is not in the workspace. TMC may not make namespaces there; it goes on once somebody has.",
  Rejected: "The workspace refuses an object; the message has its words.",
  NameTaken: "The workspace has an object of that name that was not born there; nothing is overwritten.",
  NoConflict: "No name is taken any more.",
  DeletionsHeld: "Many objects went from the cluster at once; somebody has to confirm that.",
  DeletionsConfirmed: "What was held has been confirmed, and is going.",
  NoDeletionsHeld: "Nothing is held any more.",
} as const;
export type UpsyncReason = keyof typeof upsyncReasons;
