/** The names of codes, and the error for bytes that break a rule of the link protocol. */

/** The names, from 0x0100 and 0x0200 on, of the codes that errors tell; others are told by their digits. */
const NAMES = [
  "Bye Protocol Version FeatureRequired AuthRequired AuthFailed SessionUnknown    TooMany LimitExceeded UnknownFrame   CreditExceeded",
  "    Panicked   ReplyDropped Draining  CallCycle",
];

/** The name of a code, or its digits. */
export function nameOf(code: number): string {
  return NAMES[(code >> 8) - 1]?.split(" ")[code & 0xff] || `0x${code.toString(16).padStart(4, "0")}`;
}

/** The peer has broken a rule: the session ends, and CLOSE says which rule it was. */
export class Broken extends Error {
  constructor(
    readonly code: number,
    readonly rule: string,
  ) {
    super(rule);
  }
}
