/** The opening of one connection, as its dialer does it (sections 1 and 7 of the page). */

import { isSame, line, Reader } from "../wire/bytes.js";
import * as Code from "../wire/code.js";
import { Broken, nameOf } from "../wire/codes.js";
import type { SharedKey } from "../api/shared_key.js";
import * as wire from "../wire/opening.js";
import * as Opening from "../wire/opening_type.js";

const VERSION = 1;

/** What a session brings to each of its connections. */
export interface Identity {
  node: Uint8Array;
  incarnation: Uint8Array;
  name: string;
  session: Uint8Array;
  key: SharedKey | undefined;
  limits: wire.Limits;
}

/** What is needed to resume a session. */
export interface Resumable {
  peer: { node: Uint8Array; incarnation: Uint8Array };
  token: Uint8Array;
  epoch: number;
  recvNext: number;
}

/** The peer has refused the opening, or is not the one that is looked for. */
export class Refused extends Error {
  constructor(
    readonly code: number,
    why: string,
    /** True if a later try may succeed. */
    readonly isPassing = false,
  ) {
    super(why);
  }
}

export type Opened =
  | { kind: "opened"; peer: wire.Hello; token: Uint8Array; ttlMs: number }
  | { kind: "resumed"; peer: wire.Hello; token: Uint8Array; recvNext: number };

export class Handshake {
  readonly #nonce: Uint8Array;
  readonly #hello: Uint8Array;
  #peer: wire.Hello | undefined;
  #peerHello: Uint8Array = new Uint8Array(0);
  #isProven = false;
  /** Messages to write. */
  readonly output: Uint8Array[];

  constructor(
    private readonly identity: Identity,
    private readonly resumable: Resumable | undefined,
    random: (count: number) => Uint8Array,
  ) {
    this.#nonce = random(16);
    const { node, incarnation, limits } = identity;
    const numbers = { versionMin: VERSION, versionMax: VERSION, offered: wire.OFFERED, required: 0n };
    this.#hello = wire.hello({ ...numbers, node, incarnation, nonce: this.#nonce, limits });
    this.output = [this.#hello];
  }

  /** Takes a message of the listener. The end of the opening, if it was the last. */
  receive(content: Uint8Array): Opened | undefined {
    if (content.length > 4_096) throw new Broken(Code.Protocol, "an opening message has at most 4,096 bytes");
    if (content[0] === Opening.REFUSED) throw refusal(content);
    if (this.#peer === undefined) {
      this.#helloCame(content);
      return undefined;
    }
    const reader = new Reader(content);
    const type = reader.u8();
    if (type === Opening.AUTH && this.identity.key !== undefined) {
      this.#isProven = this.identity.key.isProvenBy(reader, this.#hello, this.#peerHello);
      if (this.#isProven) return undefined;
      throw new Refused(Code.AuthFailed, UNPROVEN);
    }
    const isEnd = type === (this.resumable ? Opening.RESUMED : Opening.OPENED);
    if (!isEnd) throw new Broken(Code.Protocol, "an opening has an order");
    if (this.identity.key !== undefined && !this.#isProven) {
      throw new Refused(Code.AuthFailed, UNPROVEN);
    }
    if (this.resumable === undefined) {
      return { kind: "opened", peer: this.#peer, ...wire.parseOpened(reader) };
    }
    const { epoch, recvNext, token } = wire.parseResumed(reader);
    if (epoch !== this.resumable.epoch) throw new Broken(Code.Protocol, "RESUMED has the epoch of RESUME");
    return { kind: "resumed", peer: this.#peer, recvNext, token };
  }

  #helloCame(content: Uint8Array): void {
    const peer = wire.parseHello(content);
    this.#peer = peer;
    this.#peerHello = content.slice();
    if (peer.versionMin > VERSION || peer.versionMax < VERSION) {
      throw new Refused(Code.Version, `the node speaks versions ${peer.versionMin} to ${peer.versionMax}`);
    }
    if ((peer.required & ~wire.OFFERED) !== 0n) {
      throw new Refused(Code.FeatureRequired, "the node requires what this client lacks");
    }
    if (!wire.offers(peer, NEEDED)) {
      throw new Refused(Code.FeatureRequired, "the node lacks resuming, parts, streams or cancelling");
    }
    const { key, session, name } = this.identity;
    if (key !== undefined) {
      this.output.push(key.auth(key.proof("D", this.#hello, this.#peerHello)));
    }
    if (this.resumable === undefined) {
      this.output.push(wire.open(session, name));
      return;
    }
    const { peer: known, token, epoch, recvNext } = this.resumable;
    if (!isSame(peer.node, known.node) && !isSame(peer.incarnation, known.incarnation)) {
      // Another node may stand at the address for a while, such as one of several behind a balancer.
      const isNamed = !isSame(known.node, known.incarnation);
      throw new Refused(Code.SessionUnknown, "another node is at the address", isNamed);
    }
    if (!isSame(peer.incarnation, known.incarnation)) {
      throw new Refused(Code.SessionUnknown, "the node has been started anew");
    }
    const nonces = { ourNonce: this.#nonce, theirNonce: peer.nonce };
    this.output.push(wire.resume({ session, token, epoch, recvNext, ...nonces }));
  }
}

/** Without these a session cannot keep what this client promises. */
const NEEDED = wire.STREAMS | wire.PARTS | wire.RESUMING | wire.CANCELLING;

const UNPROVEN = "the listener does not prove the key";

function refusal(content: Uint8Array): Refused {
  const reader = new Reader(content.subarray(1));
  const code = reader.u16();
  const [rule, detail] = [line(reader.sized()), line(reader.sized())];
  const isPassing =
    code === Code.TooMany || code === Code.Draining || code === Code.Exists || code === Code.DialTie;
  return new Refused(code, `refused with ${nameOf(code)}: ${[rule, detail].filter(Boolean).join("; ")}`, isPassing);
}
