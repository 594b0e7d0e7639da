/** wigwag: calls actors of a node from a browser or Node, over connections that may be cut. */

export { connect, type ConnectOptions } from "./api/connect.js";
export { WigwagNode, type NodeEvents, type Rejected } from "./api/node.js";
export { Reference } from "./api/reference.js";
export { items, Items } from "./items/items.js";
export { SharedKey } from "./api/shared_key.js";
export { reference, type Signatures } from "./host/local_reference.js";
export { pipe } from "./api/pipe.js";
export type { Actor, Ask, CallOptions, Piped, Schema, Stream, Streams, Tell } from "./api/types.js";
export {
  AccessDenied,
  ActorStopped,
  Backlog,
  BadArguments,
  BadReply,
  Cancelled,
  Closed,
  ConnectFailed,
  type Fault,
  NoSuchActor,
  NoSuchMethod,
  NotDelivered,
  NotSerializable,
  Overloaded,
  ProtocolMismatch,
  Remote,
  Timeout,
  TooLarge,
  Unknown,
  WigwagError,
} from "./errors.js";
