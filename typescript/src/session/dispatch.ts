/** What each frame of the peer means: it is handed to the part of the session that it concerns. */

import * as batches from "../wire/batch.js";
import { type Reader, text } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken, nameOf } from "../wire/codes.js";
import * as Frame from "../wire/frame.js";
import { fieldsOf, isKnown, MAY_BE_SKIPPED, runItems } from "../wire/frames.js";
import { Assembly, type Whole } from "./assembly.js";
import type { Inbound } from "./inbound.js";
import type { Outbound } from "./outbound.js";

/** The frames that concern the session as a whole. */
export interface Signs {
  ping(id: number, nextMs: number): void;
  pong(): void;
  close(code: number, why: string): void;
}

export class Dispatch {
  readonly #assembly = new Assembly();
  #now = 0;

  constructor(
    private readonly outbound: Outbound,
    private readonly inbound: Inbound,
    private readonly messageMax: number,
    private readonly signs: Signs,
  ) {}

  /** Takes one frame. */
  frame(type: number, body: Uint8Array, now: number): void {
    this.#now = now;
    if (!isKnown(type) || type === Frame.ITEM_END) {
      if (type & MAY_BE_SKIPPED) return;
      throw new Broken(Code.UnknownFrame, "a frame is known, or may be skipped");
    }
    if (batches.isCall(type)) return this.#callCame(type, body, true);
    const fields = fieldsOf(type, body);
    switch (type) {
      case Frame.PING:
        return this.signs.ping(fields.number(0), fields.number(1));
      case Frame.PONG:
        return this.signs.pong();
      case Frame.CLOSE:
        return this.#closeCame(fields.number(0), text(fields.bytes(1)));
      case Frame.REPLY:
        return this.outbound.answered(fields.number(0), fields.number(1), fields.bytes(2));
      case Frame.REPLIES:
        return runItems(fields.bytes(2)).forEach((value, at) =>
          this.outbound.answered(fields.number(0) + at, fields.number(1), value),
        );
      case Frame.ERROR:
        return this.outbound.failed(fields.number(0), fields.number(1), fields.number(2), text(fields.bytes(3)));
      case Frame.ITEM:
        return this.outbound.item(fields, body.length);
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
        return this.inbound.attach(fields);
      case Frame.DETACH:
        this.#assembly.forget(fields.number(0));
        return this.inbound.detach(fields);
      case Frame.NEED:
        return this.inbound.need(fields);
      case Frame.CANCEL:
        return this.inbound.cancel(fields);
      case Frame.RELEASE:
        return this.inbound.release(fields.bytes(0), fields.number(1));
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
    this.signs.close(code, why);
  }

  readonly #checkParts = (source: number, total: number, start: Reader): void => {
    if (source === 0) this.outbound.slots.find(start.number(), start.number());
    else this.inbound.charge(source - 1, batches.unitsOf(total));
  };

  #whole(whole: Whole | undefined): void {
    if (whole === undefined) return;
    if (whole.type === Frame.REPLY) return this.frame(whole.type, whole.body, this.#now);
    this.#callCame(whole.type, whole.body, false);
  }

  #partsDropped(source: number): void {
    const units = batches.unitsOf(this.#assembly.drop(source));
    const channel = this.inbound.charge(source - 1, 0);
    channel.freed += units;
    this.inbound.credits.add(channel);
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
      if (isCharged) this.inbound.charge(call.channel, call.units);
      this.inbound.call(call, extras?.isUnderstood ?? true, deadline);
    }
  }
}
