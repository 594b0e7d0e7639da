/** The names of codes, and the error for bytes that break a rule of the link protocol. */

/** The names of the codes from 0x0100 on, and of those from 0x0200 on. */
const NAMES = [
  "Bye Protocol Version FeatureRequired AuthRequired AuthFailed SessionUnknown TokenBad DialTie Exists TooMany LimitExceeded UnknownFrame Gap AckBeyondSent CreditExceeded",
  "NoSuchActor NoSuchMethod BadArguments ActorStopped Panicked Overloaded Cancelled ReplyDropped Draining TooLarge CallCycle DeadlinePassed NotSerializable",
];

/** The name of a code, or its digits. */
export function nameOf(code: number): string {
  return NAMES[(code >> 8) - 1]?.split(" ")[code & 0xff] ?? `0x${code.toString(16).padStart(4, "0")}`;
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
