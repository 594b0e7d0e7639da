/**
 * What a call or a connection fails with.
 *
 * `code` is stable and made for programs, the message for people: it says what happened, on whose
 * side, and what mends it.
 */

import * as Code from "./wire/code.js";
import { nameOf } from "./wire/codes.js";
import * as Local from "./wire/local.js";

/** Which side can mend an error. */
export type Fault = "caller" | "actor" | "node" | "network";

export interface ErrorDetail {
  /** The text of the other side. */
  text?: string | undefined;
  cause?: unknown;
  /** True if the call was handled or may have been, false if it was not and never will be. */
  mayBeHandled?: boolean;
}

/** The class of all errors of this package. */
export class WigwagError extends Error {
  /** The number on the wire, for an error of the other side. */
  number: number | undefined;
  /** The text of the other side. */
  readonly text: string;
  /** True if the call was handled or may have been, false if it was not and never will be. */
  readonly mayBeHandled: boolean;

  constructor(
    /** The name of the error for programs. */
    readonly code: string,
    /** Which side can mend it. */
    readonly fault: Fault,
    message: string,
    detail: ErrorDetail = {},
  ) {
    super(detail.text ? `${message} (${detail.text})` : message, { cause: detail.cause });
    this.text = detail.text ?? "";
    this.mayBeHandled = detail.mayBeHandled ?? false;
    this.name = code;
  }
}

type Class = new (detail?: ErrorDetail) => WigwagError;

/**
 * Defines a class whose code, fault and message are fixed. Its type is written out: a found one names
 * the static parts of `Error` in Node, and the declarations would need those of Node in a browser.
 */
function define(code: string, fault: Fault, message: string, mayBeHandled = false): Class {
  return class extends WigwagError {
    constructor(detail: ErrorDetail = {}) {
      super(code, fault, message, { mayBeHandled, ...detail });
    }
  };
}

export class Timeout extends /* @__PURE__ */ define("Timeout", "actor",
  "no answer in time; allow more, or look at what the actor waits for", true) {}

/** The caller has aborted its signal. `cause` is the reason of the signal. */
export class Cancelled extends /* @__PURE__ */ define("Cancelled", "caller",
  "the caller has cancelled the call", true) {}

export class NoSuchActor extends /* @__PURE__ */ define("NoSuchActor", "caller",
  "the node has no such actor for this client; see `wigwag describe`") {}

export class NoSuchMethod extends /* @__PURE__ */ define("NoSuchMethod", "caller",
  "the actor has no such method; compare with `wigwag describe --ts`") {}

export class BadArguments extends /* @__PURE__ */ define("BadArguments", "caller",
  "the arguments are not those of the method; compare with `wigwag describe --ts`") {}

/** The value has no form on the wire. */
export class NotSerializable extends /* @__PURE__ */ define("NotSerializable", "caller",
  "a value cannot be sent to another process") {}

export class TooLarge extends /* @__PURE__ */ define("TooLarge", "caller",
  "the message is too long for its receiver; send pieces, or raise its limit") {}

/** Calls are made faster than they are accepted, without waiting for the promises of earlier ones. */
export class Backlog extends /* @__PURE__ */ define("Backlog", "caller",
  "too many calls wait; await each tell before the next") {}

/** The session has ended, and the call was never handled. */
export class NotDelivered extends /* @__PURE__ */ define("NotDelivered", "network",
  "the session has ended before the call was sent; connect again and repeat it") {}

/** The session has ended, and nobody knows whether the call was handled. */
export class Unknown extends /* @__PURE__ */ define("Unknown", "network",
  "the session has ended after the call was sent; it may have been handled", true) {}

/** The session has ended, or was closed by this side. */
export class Closed extends /* @__PURE__ */ define("Closed", "network",
  "the session has ended; connect again") {}

/** The node could not be reached, or has refused this client. */
export class ConnectFailed extends /* @__PURE__ */ define("ConnectFailed", "network",
  "the node was not reached; check the address, and that it is up") {}

/** The node demands an identity, or does not accept the one of this client. */
export class AccessDenied extends /* @__PURE__ */ define("AccessDenied", "caller",
  "the node does not accept this client; use a key or token that it knows") {}

/** The two sides do not speak the same protocol, or one of them has broken a rule of it. */
export class ProtocolMismatch extends /* @__PURE__ */ define("ProtocolMismatch", "node",
  "the sides speak different protocols; compare the versions of both") {}

export class ActorStopped extends /* @__PURE__ */ define("ActorStopped", "actor",
  "the actor has stopped; get a new one from the node") {}

/** The actor's handler has failed, or has ended without an answer. `number` has the code. */
export class Remote extends /* @__PURE__ */ define("Remote", "actor",
  "the actor has failed to answer; its log has the reason", true) {}

/** The other side has no room for the call at the moment. */
export class Overloaded extends /* @__PURE__ */ define("Overloaded", "node",
  "the node has no room for the call; try again later") {}

/** The answer has another form than its type says. */
export class BadReply extends /* @__PURE__ */ define("BadReply", "actor",
  "the answer is not that of the interface; compare the versions of both", true) {}

/** What else is between Bye and NoSuchActor is a `ProtocolMismatch`, and all others are `Remote`. */
const CLASSES: Record<number, Class> = {
  [Code.AuthRequired]: AccessDenied,
  [Code.AuthFailed]: AccessDenied,
  // The node was started anew, or has kept the session no longer: its versions are not the reason.
  [Code.SessionUnknown]: Closed,
  [Code.TooMany]: Overloaded,
  [Code.NoSuchActor]: NoSuchActor,
  [Code.NoSuchMethod]: NoSuchMethod,
  [Code.BadArguments]: BadArguments,
  [Code.ActorStopped]: ActorStopped,
  [Code.Overloaded]: Overloaded,
  [Code.Draining]: Overloaded,
  [Code.Cancelled]: Cancelled,
  [Code.TooLarge]: TooLarge,
  [Code.DeadlinePassed]: Timeout,
  [Code.NotSerializable]: NotSerializable,
  [Code.Bye]: Closed,
  [Code.Ok]: Closed,
  [Local.NotDelivered]: NotDelivered,
  [Local.Unknown]: Unknown,
  [Local.Lost]: Closed,
  [Local.Withdrawn]: Cancelled,
  [Local.Released]: ActorStopped,
};

/** What was not begun was not handled, whatever its class says in general. */
const NEVER_BEGUN: ReadonlySet<number> = new Set([Code.Cancelled, Code.DeadlinePassed, Local.Withdrawn]);

/** The error of a code. */
export function errorOf(code: number, text: string, cause?: unknown): WigwagError {
  const isProtocol = code >= Code.Bye && code < Code.NoSuchActor;
  const One = CLASSES[code] ?? (isProtocol ? ProtocolMismatch : Remote);
  const detail: ErrorDetail = { text: [One === Remote ? nameOf(code) : "", text].filter(Boolean).join(": "), cause };
  if (NEVER_BEGUN.has(code)) detail.mayBeHandled = false;
  // The call was handled, and its reply was too long.
  if (code === Code.TooLarge) detail.mayBeHandled = true;
  const error = new One(detail);
  error.number = code;
  return error;
}
