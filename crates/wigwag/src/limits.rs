//! The limits of a node, each with its reason.

use std::time::Duration;

pub use wigwag_actor::limits::{ASK_WAIT_MAX, HANDLER_WAIT_MAX, PIPED_ASKS_MAX};
pub use wigwag_link::limits::PIPES_PENDING_MAX;

/// Connections in their handshake. Each holds a descriptor and a buffer; a silent one loses its
/// place after the time of a handshake, or earlier to a newcomer.
pub const HANDSHAKES_MAX: usize = 1024;

/// Sessions that peers may open. Each may hold what the [limits of a session](wigwag_link::limits)
/// allow, within the memory of `NodeOptions::peer_memory` for all together, and, unless its
/// connection is cut, a descriptor, of which a process has some ten thousand.
pub const SESSIONS_MAX: usize = 8192;

/// Sessions that one source, a host or a user of this machine, may open: half of all, so that
/// others find some.
pub const SESSIONS_PER_SOURCE_MAX: usize = SESSIONS_MAX / 2;

/// Sessions over which nothing has arrived yet. A well-meaning peer sends something within a round
/// trip; beyond this number the oldest gives way to a newcomer.
pub const SILENT_SESSIONS_MAX: usize = 1024;

/// How long a session lives over which nothing has arrived, with or without its connection: the
/// time of a handshake.
pub const SILENT_SESSION_TTL: Duration = Duration::from_secs(5);

/// The least memory that peers together may be allowed to use: enough for a thousand channels and a
/// few frames of the largest size.
pub const PEER_MEMORY_MIN: u64 = 16 * 1024 * 1024;

/// Channels that a node may allow a peer: as many as there are first windows in a quarter of the
/// memory that all peers may use by default.
pub const PEER_CHANNELS_MAX: u64 = 1 << 18;

/// The part of the memory of all peers that one message may take at most: half of what all long
/// calls share.
pub const MESSAGE_PART_OF_MEMORY: u64 = 16;

/// The codec of channels whose arguments are MessagePack.
pub const CODEC_MESSAGEPACK: u8 = 0;

/// The codec of channels whose arguments have fixed widths where their types do, and are
/// MessagePack otherwise.
pub const CODEC_FIXED: u8 = 1;

/// The number of the method that every actor has, which describes it.
pub(crate) const DESCRIBE: u32 = 0;

/// Bytes that a turn encodes before it publishes them: one segment.
pub const TURN_BYTES: usize = 64 * 1024;

/// Bytes of memory that a thread keeps for values that it encodes before it takes a lock: one
/// segment, so that only larger values allocate.
pub const ENCODED_BYTES_KEPT_MAX: usize = TURN_BYTES;

/// Bytes of calls from which on they stay in the block that they were read into until they are
/// handled. Each keeps its block of 256 KiB alive, so calls hold at most 16 times what their credit
/// allows.
pub const SHARED_CALLS_BYTES_MIN: usize = 16 * 1024;

/// Units of credit that one turn may lease, so that other senders find some.
pub const LEASE_UNITS_MAX: u64 = 4096;

/// Calls that a turn may hold on a channel, in all, before another thread that sends on it takes the
/// turn's place: as many as an actor takes at once.
pub const TENURE_CALLS: u64 = 256;

/// How often the watchdog looks at what turns and tasks have sent and not written: what a blocked
/// thread holds back leaves within two ticks. A tick takes some microseconds, 0.2 % of a processor
/// while a program sends.
pub const WATCHDOG_TICK: Duration = Duration::from_millis(2);

/// Turns and drivers that the watchdog looks at: at some 50 ns each they are 3 % of a processor.
pub const WATCHED_MAX: usize = 1024;

/// Asks in flight per pipeline: each is a number, and a fast asker needs this many for a round trip
/// of 20 ms. A power of two.
pub const PIPELINE_ASKS_MAX: usize = 2_097_152;

/// Asks in flight outside of pipelines: each has a slot of 64 bytes, and a waiting caller.
pub const SINGLE_ASKS_MAX: usize = 65_536;

/// Asks in flight per session: the largest pipeline leaves single asks their own share.
pub const ASKS_MAX: usize = PIPELINE_ASKS_MAX + SINGLE_ASKS_MAX;

/// Asks of [`ASKS_MAX`] that pipelines leave to single asks.
pub const SINGLE_ASKS_MIN: usize = 1024;

/// Slots that a turn takes for its asks at a time.
pub const LEASE_SLOTS: usize = 64;

/// Slots that a turn keeps for its next asks when it takes answers.
pub const KEPT_SLOTS_MAX: usize = 512;

/// Characters of an error's text: meant for people, and far below the smallest frame that a peer
/// accepts by default.
pub const ERROR_TEXT_CHARS_MAX: usize = 512;

/// Bytes of a reply that is always sent: an asker has at most [`ASKS_MAX`] slots, so such replies
/// take at most 132 MiB together.
pub const SMALL_ANSWER: usize = 64;

/// Waiting bytes above which a sender outside a turn writes them itself. Below, the driver is woken
/// once and takes what has piled up meanwhile.
pub const PILE_BYTES: usize = 128 * 1024;

/// Bytes of items that the reader of a stream takes at a time. They count until they are read,
/// so a stream holds this much beside its window.
pub const ITEM_CHUNK_BYTES: usize = wigwag_link::limits::ITEM_RUN_BYTES;

/// Streams as arguments or within replies that one session sends at a time: as many as the budget of a
/// receiver has room for at most.
pub const STREAM_VALUES_MAX: u64 = 4096;

/// Items of such a stream that are sent before other tasks of the thread have their turn.
pub const ITEMS_PER_POLL: usize = 512;

/// References to actors that one session has sent and that are not released, and as many that it has
/// brought and that are held: some 100 bytes each, and what keeps an actor alive.
pub const REFERENCES_MAX: u64 = 65_536;

/// [`REFERENCES_MAX`] for all sessions of a node together.
pub const NODE_REFERENCES_MAX: u64 = 16 * REFERENCES_MAX;

/// Routes of a session that are kept although no reference leads over them, because the reference has
/// come again and again: each has a channel, and keeps its actor alive.
pub const KEPT_ROUTES_MAX: usize = 64;

/// How long such a route is kept after the reference has last come, and at most as long again: long
/// beside the time between two calls that bring it, short for those who wait for the actor to end.
pub const KEPT_ROUTE_TIME: Duration = Duration::from_millis(100);

/// References to actors of third nodes that a node dials at a time; others wait. Each attempt takes
/// the time of a handshake at most, for each of its addresses.
pub const REACHES_MAX: usize = 64;

/// How long a node that is dropped without `close` tries to write waiting output, for each session.
pub const DROP_WAIT: Duration = Duration::from_secs(1);

/// The longest time that closing a node may take; a longer one counts as this, a year.
pub const CLOSE_TIME_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long `#[wigwag::main]` gives the nodes to deliver their messages after `main` has returned.
pub const MAIN_CLOSE: Duration = Duration::from_secs(5);

/// How long a session is kept after its connection was cut: long enough for a switch to restart, or
/// for a laptop to change networks.
pub const SESSION_TTL: Duration = Duration::from_secs(60);

/// The longest time that a session may be kept: each one holds its unacknowledged messages.
pub const SESSION_TTL_MAX: Duration = Duration::from_secs(3600);

/// How much longer the dialer waits than the listener keeps the session: the listener decides.
pub const REDIAL_PATIENCE: Duration = Duration::from_secs(5);

/// The first pause between two redials, after one without a pause.
pub const REDIAL_LEAST: Duration = Duration::from_millis(10);

/// The longest pause between two redials.
pub const REDIAL_MOST: Duration = Duration::from_secs(1);

/// How long a dial that has found another session with its peer waits for that session before it
/// tries again. The session starts within a round trip, unless its dial has failed or it has ended
/// here and not yet at the peer; the peer learns of that with its next dial, a second later at
/// most.
pub const ANOTHER_WAIT: Duration = Duration::from_millis(500);

/// Earlier incarnations of an actor that a reconnecting reference keeps for the outcomes of their
/// asks, if nobody has taken these. Each may hold the slots of a session, up to 5 MiB; the outcome
/// of an older ask becomes unknown.
pub const FORMER_INCARNATIONS_MAX: usize = 8;

/// Methods of a channel of which rejected tells are known apart. The peer reports fewer.
pub const REJECTED_METHODS_MAX: usize = 16;

/// Sessions that are asked at a time for an actor by its name: with one round trip of 1 ms, a node
/// with 8,192 sessions has asked all of them in a tenth of a second.
pub const FINDS_MAX: usize = 64;

/// How long peers have to say that they export an actor: the time of a handshake.
pub const FIND_TIME_MAX: Duration = Duration::from_secs(5);

/// Groups of a node that one peer may follow at a time; each is a task and a subscription.
pub const PEER_FOLLOWS_MAX: usize = 64;

/// Groups of a node that all peers may follow at a time, counted for each of them.
pub const FOLLOWS_MAX: usize = 4096;

/// Members of a group that one peer may add to that of this node: some megabytes of references, and
/// as many channels.
pub const FOLLOWED_MEMBERS_MAX: usize = 8192;

/// Members in one item of those that follow a group: with the longest addresses some 40 KiB, less
/// than a frame.
pub const MEMBERS_PER_ITEM_MAX: usize = 64;

/// Actors that are listed of those that a peer holds: more than a person reads.
pub const HELD_ROWS_MAX: usize = 256;

/// Session events that wait for each subscriber.
pub const EVENTS_MAX: usize = 1024;

/// Connections of SP clients that are no pair. Each holds a descriptor, and at most some 8 MiB: a
/// message that has come in part, one that waits, those of [`SP_CLIENT_WINDOW_BYTES`], and answers
/// that are not read. A newcomer evicts the oldest one of the source that has most; a client of
/// other libraries connects again by itself.
pub const SP_CLIENTS_MAX: usize = 1024;

/// Requests of one connection that may be without an answer; the next one is not read before. Also
/// the calls of one connection that may wait for one actor.
pub const SP_CLIENT_CALLS_MAX: usize = 64;

/// Asks of all SP clients that may be without an answer; one source may have half of them: those
/// of 128 connections with [`SP_CLIENT_CALLS_MAX`] each.
pub const SP_ASKS_MAX: usize = 8192;

/// Bytes of requests of one connection that may be without an answer, and of tells that wait for
/// their actors: one message of the default receive limit, so that each fits. A longer one, of a
/// listener with another limit, waits until it is alone.
pub const SP_CLIENT_WINDOW_BYTES: usize = 1024 * 1024;

/// Bytes of an answer to an SP client, and of a value that is published: the receive limit that
/// nanomsg, NNG and mangos have by default. A longer one would end the connection, and a req socket
/// would ask again.
pub const SP_ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of answers that one connection has not read; the next one is replaced by an error.
pub const SP_ANSWERS_BYTES_MAX: usize = 4 * SP_ANSWER_BYTES_MAX;

/// How long an actor has for its answer to an SP client: half of the time after which a req socket
/// sends a request again.
pub const SP_ASK_MAX: Duration = Duration::from_secs(30);

/// Calls of all proxies that may wait for one actor, unless the options of the actor set another number.
/// A further one is refused at once, so that its caller hears of it while others are answered.
pub const PROXY_ACTOR_CALLS_MAX: usize = 1024;

/// Bytes of an answer that is read through a proxy: the default limit between nodes.
pub const PROXY_ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of an item of a stream that is read through a proxy: that of a frame between nodes.
pub const PROXY_ITEM_BYTES_MAX: usize = 64 * 1024;

/// Actors that one SP connection, or one proxy, has queues for. Beyond it, the queues that are empty are closed.
pub const SP_CLIENT_ACTORS_MAX: usize = 64;

/// Members of a group that one survey asks.
pub const SURVEY_MEMBERS_MAX: usize = 1024;

/// Bytes of a description that an actor gives of itself: an interface of some thousand methods and
/// fields. A method of four bytes takes some 300 in memory.
pub const DESCRIPTION_BYTES_MAX: usize = 1024 * 1024;

/// Actors in one answer of a node that lists them: with the longest names and comments some 350 KiB.
pub const LISTED_PER_ANSWER_MAX: usize = 256;

/// Actors, and sessions, that a snapshot of a node's metrics has a row for; the others are summed in
/// one. A server for metrics takes this many series from one process without complaint; with the
/// longest names they are some 2 MiB.
pub const METRICS_ROWS_MAX: usize = 1024;

/// Actors of a peer that are listed: more than a person reads.
pub const LISTED_MAX: usize = 16_384;

/// Bytes of names and comments of a peer's actors, after which no more are asked for.
pub const LISTED_BYTES_MAX: usize = 16 * 1024 * 1024;
