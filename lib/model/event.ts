/** Something that people may want to hear of; where it is written, as an Event beside the object that it is about. */
export type ObjectEvent = Readonly<{
  type: "Normal" | "Warning";
  /** One word; docs/reasons.md has those that are not about workloads. */
  reason: string;
  /** The same words each time: neither a clock nor a counter. */
  message: string;
}>;
