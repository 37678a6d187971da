/** Reasons in the upsync conditions of a registration, with their explanation for docs/reasons.md. */
export const upsyncReasons = {
  Upsynced: "All opted-in objects of the cluster are in the workspace.",
  TypeNotOffered: "TMC does not offer a type in `spec.upsync`, so it cannot write the type in the workspace.",
  TypeNotServed: "The cluster does not serve a type in `spec.upsync`. Upsync continues when the cluster serves it.",
  ListForbidden: "The cluster does not let TMC list a type in `spec.upsync`. The message is the cluster's error.",
  NamespaceMissing:
    "The workspace does not have the namespace of an object. TMC cannot create namespaces there; upsync continues when a user has created it.",
  Rejected: "The workspace's API server rejects an object. The message is its error.",
  NameTaken:
    "The workspace has another object with the same name, created there or upsynced from another cluster. TMC overwrites nothing.",
  NoConflict: "No name is in conflict any more.",
  DeletionsHeld:
    "Many objects disappeared from the cluster at once, or all of them without a deletion that TMC observed, or many copies on other clusters would be deleted with them. TMC keeps the objects in the workspace until a user confirms.",
  DeletionsConfirmed: "A user confirmed the held deletions, and TMC is deleting the objects.",
  NoDeletionsHeld: "No deletions are held any more.",
} as const;
export type UpsyncReason = keyof typeof upsyncReasons;
