/** A promise of the work queue that a form of it does not keep. */
export type Difference = Readonly<{
  /** The name of the case in the contract. */
  rule: string;
  /** The forms that differ, by the name they run the contract under. */
  forms: readonly string[];
  why: string;
}>;

export const memory = "in memory";
export const fauxqs = "SQS on fauxqs";
export const endpoint = "SQS on AWS_ENDPOINT_URL";

/** All that is known to differ. A case that is listed is expected to fail: when it passes, the list is out of date. */
export const knownDifferences: readonly Difference[] = [
  {
    rule: "a busy tenant does not delay another",
    forms: [fauxqs, endpoint],
    why: "a FIFO queue hands lines out in the order they were filled, and knows of no tenants; the relay keeps their shares before it",
  },
  {
    rule: "a tenant whose reconciles hang leaves workers for others",
    forms: [fauxqs, endpoint],
    why: "whoever fetches from a FIFO queue cannot choose whose message it gets; a run ends with its time",
  },
  {
    rule: "adds of a waiting key coalesce",
    forms: [fauxqs],
    why: "it hands out one message of a line at a time, so that each is a run; SQS hands out up to ten, which are one",
  },
];

/** Says why a form does not keep a rule; undefined when it has to. */
export function differenceOf(form: string, rule: string): string | undefined {
  return knownDifferences.find((one) => one.rule === rule && one.forms.includes(form))?.why;
}
