/** The codes of the link protocol, and the error for bytes that break one of its rules. */

/** Section 8 of the page. */
export const Code = {
  Ok: 0x0000,
  Bye: 0x0100,
  Protocol: 0x0101,
  Version: 0x0102,
  FeatureRequired: 0x0103,
  AuthRequired: 0x0104,
  AuthFailed: 0x0105,
  SessionUnknown: 0x0106,
  TokenBad: 0x0107,
  DialTie: 0x0108,
  Exists: 0x0109,
  TooMany: 0x010a,
  LimitExceeded: 0x010b,
  UnknownFrame: 0x010c,
  Gap: 0x010d,
  AckBeyondSent: 0x010e,
  CreditExceeded: 0x010f,
  NoSuchActor: 0x0200,
  NoSuchMethod: 0x0201,
  BadArguments: 0x0202,
  ActorStopped: 0x0203,
  Panicked: 0x0204,
  Overloaded: 0x0205,
  Cancelled: 0x0206,
  ReplyDropped: 0x0207,
  Draining: 0x0208,
  TooLarge: 0x0209,
  CallCycle: 0x020a,
  DeadlinePassed: 0x020b,
  NotSerializable: 0x020c,
} as const;

const NAMES = new Map<number, string>(Object.entries(Code).map(([name, code]) => [code, name]));

/** The name of a code, or its digits. */
export function nameOf(code: number): string {
  return NAMES.get(code) ?? `0x${code.toString(16).padStart(4, "0")}`;
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
