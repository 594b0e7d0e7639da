/** What each frame of the peer means: it is handed to the part of the session that it concerns. */

import * as batches from "../wire/batch.js";
import { line, type Reader } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken, nameOf } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import { type Fields, fieldsOf, isKnown, MAY_BE_SKIPPED, runItems } from "../wire/frames.js";
import { Assembly, type Whole } from "./assembly.js";
import type { Outbound } from "./outbound.js";
import type { InboundSide } from "./refusing.js";

/** The frames that concern the session as a whole. */
export interface Signs {
  /** The calls of the peer, and the streams that this side sends. */
  readonly inbound: InboundSide;
  readonly outgoing: OutgoingStreams | undefined;
  ping(id: number, nextMs: number): void;
  pong(): void;
  closed(code: number, why: string): void;
}

/** The streams that this side sends as values, if there are any. */
export interface OutgoingStreams {
  readonly hasWork: boolean;
  credit(fields: Fields): void;
  ended(fields: Fields): void;
  /** There may be room for items. */
  pump(): void;
  end(): void;
}

export class Dispatch {
  readonly #assembly = new Assembly();
  #now = 0;

  constructor(
    private readonly outbound: Outbound,
    private readonly messageMax: number,
    private readonly session: Signs,
  ) {}

  /** Takes one frame. */
  frame(type: number, body: Uint8Array, now: number): void {
    this.#now = now;
    if (!isKnown(type)) {
      if (type & MAY_BE_SKIPPED) return;
      throw new Broken(Code.UnknownFrame, "a frame is known, or may be skipped");
    }
    if (batches.isCall(type)) return this.#callCame(type, body, true);
    const fields = fieldsOf(type, body);
    switch (type) {
      case Frame.PING:
        return this.session.ping(fields.number(0), fields.number(1));
      case Frame.PONG:
        return this.session.pong();
      case Frame.CLOSE:
        return this.#closeCame(fields.number(0), line(fields.bytes(1)));
      case Frame.REPLY:
        return this.outbound.answered(fields.number(0), fields.number(1), fields.bytes(2));
      case Frame.REPLIES:
        return runItems(fields.bytes(2)).forEach((value, at) =>
          this.outbound.answered(fields.number(0) + at, fields.number(1), value),
        );
      case Frame.ERROR:
        return this.outbound.failed(fields.number(0), fields.number(1), fields.number(2), line(fields.bytes(3)));
      case Frame.ITEM:
        return this.outbound.item(fields, body.length);
      case Frame.ITEM_CREDIT:
        return this.session.outgoing?.credit(fields);
      case Frame.ITEM_END:
        if (this.session.outgoing) return this.session.outgoing.ended(fields);
        throw new Broken(Code.Protocol, "a stream is ended that was sent");
      case Frame.ATTACHED:
        return this.outbound.attached(fields);
      case Frame.DETACHED:
        return this.outbound.detached(fields);
      case Frame.CREDIT:
        return this.outbound.credit(fields);
      case Frame.REVOKE:
        return this.outbound.revoke(fields);
      case Frame.REJECTED:
        return this.outbound.rejected(fields);
      case Frame.ATTACH:
        this.#assembly.forget(fields.number(0));
        return this.session.inbound.attach(fields);
      case Frame.DETACH:
        this.#assembly.forget(fields.number(0));
        return this.session.inbound.detach(fields);
      case Frame.NEED:
        return this.session.inbound.need?.(fields);
      case Frame.CANCEL:
        return this.session.inbound.cancel?.(fields);
      case Frame.RELEASE:
        return this.#released(fields.bytes(0), fields.number(1));
      case Frame.PARTS:
        return this.#whole(this.#assembly.begin(fields, this.messageMax, this.#checkParts));
      case Frame.PART:
        return this.#whole(this.#assembly.add(fields.number(0), fields.bytes(1)));
      case Frame.PARTS_DROP:
        return this.#partsDropped(fields.number(0));
    }
  }

  #closeCame(code: number, rule: string): void {
    const why = code === Code.Bye ? "the node closed the session" : `the node ended the session with ${nameOf(code)}: ${rule}`;
    this.session.closed(code, why);
  }

  readonly #checkParts = (source: number, total: number, start: Reader): void => {
    if (source === 0) this.outbound.slots.find(start.number(), start.number());
    else this.session.inbound.charge(source - 1, batches.unitsOf(total));
  };

  #whole(whole: Whole | undefined): void {
    if (whole === undefined) return;
    if (whole.type === Frame.REPLY) return this.frame(whole.type, whole.body, this.#now);
    this.#callCame(whole.type, whole.body, false);
  }

  #released(number: Uint8Array, times: number): void {
    if (!this.outbound.returned(number, times)) this.session.inbound.release(number, times);
  }

  #partsDropped(source: number): void {
    this.session.inbound.dropped?.(source - 1, batches.unitsOf(this.#assembly.drop(source)));
  }

  /** Takes the calls of a frame; those of a message in parts were charged with its first part. */
  #callCame(type: number, body: Uint8Array, isCharged: boolean): void {
    const units = batches.unitsOf(body.length);
    const extras = type === Frame.CALL_X ? batches.extended(body) : undefined;
    if (extras?.type === Frame.REPLY) {
      const fields = fieldsOf(Frame.REPLY, extras.body);
      const [slot, generation] = [fields.number(0), fields.number(1)];
      if (extras.isUnderstood) return this.outbound.answered(slot, generation, fields.bytes(2));
      return this.outbound.failed(slot, generation, Code.BadArguments, "the reply has an unknown extra");
    }
    const deadline = extras?.milliseconds === undefined ? Infinity : this.#now + 0.9 * extras.milliseconds;
    for (const call of batches.callsOf(extras?.type ?? type, extras?.body ?? body)) {
      if (extras || type === Frame.TELL || type === Frame.ASK) call.units = units;
      if (isCharged) this.session.inbound.charge(call.channel, call.units);
      this.session.inbound.call(call, extras?.isUnderstood ?? true, deadline);
    }
  }
}
