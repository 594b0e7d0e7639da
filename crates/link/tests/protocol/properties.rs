//! Properties that hold for any bytes and for any order of events.
//!
//! Bytes from a stranger result in frames or in an error that names a rule; how they were split in
//! transit makes no difference; and credit never adds up to more than was granted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use wigwag_link::budget::Budget;
use wigwag_link::credit::{ActorBound, Grant, Window};
use wigwag_link::frame::Frame;
use wigwag_link::limits::{
    BATCH_HEAD_BYTES_MAX, FRAME_RESERVE_UNITS, FRAME_UNITS, OPENING_BYTES_MAX, SESSION_UNITS_MAX,
    WINDOW_UNITS_MAX,
};
use wigwag_link::opening::{Identity, Opening, Step};
use wigwag_link::send_half::Outgoing;
use wigwag_link::{Code, Limits, LinkError, RecvHalf, SendHalf, features, write};
use wigwag_wire::{Framing, ReadBuf, Time};

fn identity(limits: Limits) -> Identity {
    Identity { node: 1, incarnation: 2, nonce: 3, offered: 0, required: 0, limits }
}

/// A frame of each kind, made of a few numbers.
fn frame(bytes: &[u8], which: u8, a: u64, b: u64) -> Frame<'_> {
    match which % 17 {
        0 | 1 => Frame::Tell { channel: a, method: b % 9, arguments: bytes },
        2 => Frame::Ask {
            channel: a,
            slot: b % 1000,
            generation: a % 1000,
            method: b % 9,
            arguments: bytes,
        },
        3 => Frame::Reply { slot: a % 1000, generation: b % 1000, value: bytes },
        4 => Frame::Error {
            slot: a % 1000,
            generation: b % 1000,
            code: Code(b as u16),
            text: bytes,
            data: b"data",
        },
        5 => Frame::Cancel { slot: a, generation: b },
        6 => Frame::Attach { channel: a, how: 0, target: bytes, schema_hash: b, codec: 0 },
        7 => Frame::Attached { channel: a, limit: b, schema_hash: a, codec: 0, reference: bytes },
        8 => Frame::Detach { channel: a },
        9 => Frame::Detached { channel: a, code: Code(a as u16), accepted: b, reason: bytes },
        10 => Frame::Revoked { channel: a, limit: b },
        13 => Frame::ItemEnd { stream: a, how: b as u8 % 4, code: Code(a as u16), text: bytes },
        11 => Frame::Item { slot: a, generation: b, side: 1, value: bytes },
        12 => Frame::AskItems {
            limit: b,
            channel: a,
            slot: b % 1000,
            generation: a % 1000,
            method: b % 9,
            arguments: bytes,
        },
        14 => Frame::Link { channel: a, link: b, actor: bytes },
        15 => Frame::Unlink { channel: a, link: b, reason: bytes },
        _ => Frame::Release { reference: bytes, times: a },
    }
}

prop_compose! {
    fn frames()(
        list in prop::collection::vec((any::<u8>(), any::<u64>(), 0_u32..64, 0_usize..200), 1..60)
    ) -> Vec<(u8, u64, u64, Vec<u8>)> {
        let small = |wide: u64, shift: u32| wide >> shift;
        list.into_iter()
            .map(|(which, wide, shift, bytes)| {
                (which, small(wide, shift), wide % 77, vec![which; bytes])
            })
            .collect()
    }
}

/// The bytes of a connection that carries the frames in batches.
fn connection(frames: &[(u8, u64, u64, Vec<u8>)], limits: Limits) -> Vec<u8> {
    let mut sender = SendHalf::new(&Limits::default(), limits, Time::START);
    let mut wire = Vec::new();
    let mut out = Outgoing::default();
    for (at, (which, a, b, bytes)) in frames.iter().enumerate() {
        let mut frame = frame(bytes, *which, *a, *b);
        if let Frame::Ask { generation, .. } | Frame::AskItems { generation, .. } = &mut frame {
            // A slot is asked from only once with each generation.
            *generation = at as u64;
        }
        sender.outbox.append(|out| write::any(out, &frame));
        if *b % 5 == 0 {
            sender.ping_received(*a, *b);
        }
        if *which < 100 || at + 1 == frames.len() {
            while sender.has_output() {
                sender.take_output(&mut out, Time::START);
                let (prefix, used) = Framing::Tcp.prefix(out.len());
                wire.extend_from_slice(&prefix[..used]);
                wire.extend_from_slice(out.head.as_slice());
                out.sequenced.segments.iter().for_each(|one| wire.extend_from_slice(&one.flat()));
            }
        }
    }
    wire
}

/// Reads a connection in chunks of the given lengths, cyclically, and returns the events as text.
fn events(wire: &[u8], chunks: &[usize], limits: &Limits) -> Vec<String> {
    let items = features::STREAMS | features::CANCELLING | features::STREAM_VALUES;
    let features = items | features::LINKS | features::REFERENCES;
    let mut receiver = RecvHalf::new(limits).with_features(features);
    let (mut input, mut seen, mut rest) = (ReadBuf::new(), Vec::new(), wire);
    for length in chunks.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, behind) = rest.split_at((*length).clamp(1, rest.len()));
        input.fill(chunk);
        rest = behind;
        loop {
            match Framing::Tcp.cut(&mut input, limits.batch_max as usize) {
                Ok(None) => break,
                Ok(Some(message)) => {
                    if let Err(error) = read(&mut receiver, &message, &mut seen) {
                        seen.push(error.to_string());
                        return seen;
                    }
                }
                Err(error) => {
                    seen.push(error.to_string());
                    return seen;
                }
            }
        }
    }
    seen
}

fn read(receiver: &mut RecvHalf, message: &[u8], seen: &mut Vec<String>) -> Result<(), LinkError> {
    let mut incoming = receiver.open(message)?;
    seen.push(format!("ack {}", incoming.ack));
    while let Some((frame, body)) = incoming.next_frame()? {
        assert!(body <= message.len());
        seen.push(format!("{frame:?}"));
    }
    Ok(())
}

proptest! {
    /// Invariant 5: the split of the bytes makes no difference, even if some are wrong.
    #[test]
    fn any_split_of_the_same_bytes_gives_the_same_events(
        list in frames(),
        chunks in prop::collection::vec(1_usize..300, 1..8),
        batch_max in 2048_u64..20_000,
        spoiled in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let limits = Limits { batch_max, frame_max: 1000, ..Limits::default() };
        let mut wire = connection(&list, limits);
        if let Some((at, value)) = spoiled {
            let at = at.index(wire.len());
            wire[at] = value;
        }
        let whole = events(&wire, &[wire.len()], &limits);
        prop_assert_eq!(&whole, &events(&wire, &chunks, &limits));
        prop_assert_eq!(&whole, &events(&wire, &[1], &limits));
        if spoiled.is_none() {
            let count = whole.iter().filter(|event| !event.starts_with("ack") && !event.starts_with("Pong"));
            prop_assert_eq!(count.count(), list.len());
        }
    }

    /// No batch is larger than the peer accepts, whatever is published.
    #[test]
    fn every_batch_is_within_the_limit_of_its_reader(
        list in frames(),
        batch_max in 2048_u64..5_000,
        needs in prop::collection::vec(any::<u64>(), 0..200),
    ) {
        let peer = Limits { batch_max, frame_max: 1000, ..Limits::default() };
        let mut sender = SendHalf::new(&Limits::default(), peer, Time::START);
        for (which, a, b, bytes) in &list {
            sender.outbox.append(|out| write::any(out, &frame(bytes, *which, *a, *b)));
        }
        for wanted in needs {
            let channel = sender.open_channel().expect("8192 are allowed");
            sender.stuck(channel, wanted);
        }
        sender.ping_received(u64::MAX, 1000);
        sender.close(Code::BYE, "the longest rule of this crate is about as long as this text is");
        let mut out = Outgoing::default();
        while sender.has_output() {
            sender.take_output(&mut out, Time::START);
            prop_assert!(!out.is_empty());
            prop_assert!(4 + out.len() <= batch_max as usize, "{} bytes", out.len());
            prop_assert!(4 + out.head.len() <= BATCH_HEAD_BYTES_MAX, "{} bytes", out.head.len());
        }
        prop_assert!(sender.is_closed());
    }

    /// Noise gives a result or an error, never a panic, and no more of it is kept than its length.
    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&mut RecvHalf::new(&Limits::default()), &noise, &mut Vec::new());
        let mut with_flags = vec![0, 0, 0];
        with_flags.extend_from_slice(&noise);
        let _ = read(&mut RecvHalf::new(&Limits::default()), &with_flags, &mut Vec::new());
        for kind in 0..=u8::MAX {
            if let Ok(frame) = Frame::parse(kind, &noise) {
                let told = format!("{frame:?}");
                prop_assert!(!told.is_empty());
            }
        }
        let mut listener = Opening::listen(identity(Limits::default()));
        prop_assert!(listener.receive(&noise).is_err(), "noise is no HELLO");
    }

    /// An opening with some bytes wrong, in any order, on either side.
    #[test]
    fn corrupted_openings_never_panic(
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        cut in any::<prop::sample::Index>(),
        order in prop::collection::vec(0_usize..5, 1..8),
    ) {
        let ours = identity(Limits::default());
        let (mut dialer, hello) = Opening::dial(ours, 7);
        let mut listener = Opening::listen(ours);
        let answer = listener.receive(hello.as_slice());
        let open = match dialer.receive(hello.as_slice()) {
            Ok(Step::Send(open)) => open,
            other => panic!("expected OPEN, got {other:?}"),
        };
        prop_assert!(answer.is_ok());
        let opened = listener.accept(9, 1000).expect("after HELLO").0;
        let refused = Opening::refuse(Code::TOO_MANY, "rule", "detail");
        let auth = [2, 0, 0, 0];
        let messages =
            [hello.as_slice(), open.as_slice(), opened.as_slice(), refused.as_slice(), &auth];
        for which in order {
            let mut message = messages[which].to_vec();
            let place = at.index(message.len());
            message[place] = value;
            message.truncate(1 + cut.index(message.len()));
            for side in [&mut dialer, &mut listener] {
                if let Err(LinkError::ClosedByPeer { rule, detail, .. }) = side.receive(&message) {
                    // Each invalid byte becomes a replacement character of three bytes.
                    prop_assert!(rule.len() + detail.len() <= 3 * message.len());
                }
            }
        }
        prop_assert!(dialer.receive(&vec![1; OPENING_BYTES_MAX + 1]).is_err());
    }

    /// Invariant 7: the memory that a peer's numbers can claim is bounded by the announced limits.
    #[test]
    fn a_peers_numbers_cannot_make_tables_grow(numbers in prop::collection::vec(any::<u64>(), 1..50)) {
        let ours = Limits { channels_max: 4, ..Limits::default() };
        let mut sender = SendHalf::new(&ours, Limits::default(), Time::START);
        for number in numbers {
            for channel in [number, number % 6] {
                let granted = sender.grant(channel, 16, None);
                prop_assert!(granted.is_err() || channel < 4);
                sender.need_received(channel, number, 0);
                sender.freed(channel.wrapping_add(4), 1);
                sender.attached(number, number);
                if number % 3 == 0 {
                    sender.withdraw(channel);
                    sender.close_channel(channel);
                }
            }
            sender.accepted(number, number as usize % 1000, Time::START);
        }
        let mut out = Outgoing::default();
        sender.take_output(&mut out, Time::START);
        prop_assert!(out.len() <= BATCH_HEAD_BYTES_MAX);
    }
}

/// An event on a channel.
#[derive(Clone, Copy, Debug)]
enum ChannelEvent {
    /// A sender tries to use this many units.
    Use(u64),
    /// A sender's turn leases units and returns some.
    Lease(u64, u64),
    /// The actor takes calls off the front of its inbound queue.
    Free(u64),
    /// The receiver announces its state, at once or late and out of order.
    Announce,
    /// An old announcement arrives again.
    Repeat,
    /// The sender says how many units it needs.
    Need(u64),
}

fn channel_event() -> impl Strategy<Value = ChannelEvent> {
    prop_oneof![
        (1_u64..100).prop_map(ChannelEvent::Use),
        (1_u64..200, 0_u64..200).prop_map(|(most, back)| ChannelEvent::Lease(most, back)),
        (1_u64..100).prop_map(ChannelEvent::Free),
        Just(ChannelEvent::Announce),
        Just(ChannelEvent::Repeat),
        (1_u64..2000).prop_map(ChannelEvent::Need),
    ]
}

proptest! {
    /// Invariant 1, against a model of three sums: units granted, used, and queued.
    #[test]
    fn used_units_never_exceed_the_limit_or_the_queue(
        first in 1_u64..100,
        events in prop::collection::vec(channel_event(), 1..300),
    ) {
        let mut budget = Budget::default();
        let mut grant = Grant::new(first, &mut budget);
        let mut window = Window::new(first);
        let (mut limit, mut used, mut freed, mut old) = (first, 0_u64, 0_u64, first);
        for step in events {
            match step {
                ChannelEvent::Use(units) => {
                    let fits = used + units <= limit;
                    prop_assert_eq!(window.take(units), fits);
                    used += if fits { units } else { 0 };
                }
                ChannelEvent::Lease(most, back) => {
                    let leased = window.lease(most);
                    prop_assert_eq!(leased, most.min(limit - used));
                    window.give_back(back.min(leased));
                    used += leased - back.min(leased);
                }
                ChannelEvent::Free(units) => {
                    let units = units.min(used - freed);
                    grant.free(units);
                    freed += units;
                }
                ChannelEvent::Announce => {
                    old = limit;
                    limit = grant.announce().0;
                    prop_assert_eq!(window.raise(limit), limit > old);
                }
                ChannelEvent::Repeat => prop_assert!(!window.raise(old)),
                ChannelEvent::Need(units) => {
                    if let Some(wanted) = window.need(units) {
                        prop_assert_eq!(wanted, used + units);
                        grant.need(wanted, 0, &mut budget);
                    }
                }
            }
            prop_assert_eq!(window.free(), limit - used);
            prop_assert!(grant.check(used).is_ok());
            prop_assert!(used - freed <= grant.window(), "the queue has room");
            prop_assert!(grant.announced() - freed <= grant.window());
            prop_assert!(grant.window() <= WINDOW_UNITS_MAX);
        }
        prop_assert!(grant.check(grant.announced() + 1).is_err());
    }

    /// The windows of the channels to a bounded actor, of any sessions, stay within its bound or the
    /// largest call, and calls of every size get through.
    #[test]
    fn calls_of_every_size_get_through_the_windows_of_a_bounded_actor(
        most in 1_u64..200,
        // The channel, the largest cost of its next calls, and the units that the actor takes.
        steps in prop::collection::vec((0_usize..6, 1_u64..80, 0_u64..100), 1..300),
    ) {
        let free = Arc::new(AtomicU64::new(most));
        let bound = ActorBound::new(most, free.clone());
        let mut budgets = [Budget::default(), Budget::default()];
        let mut channels: Vec<(Grant, Window, u64, u64)> = (0..6)
            .map(|at| {
                let grant = Grant::bounded(64, bound.clone(), &mut budgets[at % 2]);
                let window = Window::new(grant.announced());
                (grant, window, 0, 0)
            })
            .collect();
        for (at, cost, taken) in steps {
            let budget = &mut budgets[at % 2];
            let (grant, window, used, freed) = &mut channels[at];
            while window.take(cost) {
                *used += cost;
            }
            let wanted = window.need(cost);
            prop_assert!(grant.check(*used).is_ok());
            wanted.into_iter().for_each(|wanted| { grant.need(wanted, 0, budget); });
            grant.fit_call(budget);
            let units = taken.min(*used - *freed);
            *freed += units;
            grant.free(units);
            grant.fit_call(budget);
            window.raise(grant.announce().0);
            prop_assert!(*freed < *used || window.free() >= cost, "the call gets through");
            let largest_call = 80;
            for (grant, _, used, freed) in &channels {
                prop_assert!(grant.window() <= most.max(largest_call));
                prop_assert!(used - freed <= grant.window());
            }
        }
        channels.clear();
        prop_assert_eq!(free.load(Ordering::Relaxed), most, "all is returned");
    }

    /// As above, for calls of one unit, which no window has to be fitted to.
    #[test]
    fn calls_of_one_unit_never_wait_beyond_the_bound_and_a_first_window_each(
        most in 1_u64..200,
        steps in prop::collection::vec((0_usize..6, 0_u64..100), 1..300),
    ) {
        let bound = ActorBound::new(most, Arc::new(AtomicU64::new(most)));
        let first = bound.first_window();
        let mut budget = Budget::default();
        let mut channels: Vec<(Grant, Window, u64, u64)> = (0..6)
            .map(|_| (Grant::bounded(64, bound.clone(), &mut budget), Window::new(first), 0, 0))
            .collect();
        for (at, taken) in steps {
            let (grant, window, used, freed) = &mut channels[at];
            *used += window.lease(u64::MAX);
            let wanted = window.need(1);
            prop_assert!(grant.check(*used).is_ok());
            wanted.into_iter().for_each(|wanted| { grant.need(wanted, 0, &mut budget); });
            grant.fit_call(&mut budget);
            let units = taken.min(*used - *freed);
            *freed += units;
            grant.free(units);
            window.raise(grant.announce().0);
            let granted = channels.iter().map(|(grant, _, _, freed)| grant.announced() - freed);
            prop_assert!(granted.sum::<u64>() <= most + 6 * first);
        }
    }

    /// The windows of a session stay within its budget for any demand of its channels, and a
    /// channel that is blocked on one frame makes progress.
    #[test]
    fn windows_stay_within_the_budget_of_the_session(
        wishes in prop::collection::vec((0_usize..100, 1_u64..200_000), 1..300),
    ) {
        let mut budget = Budget::default();
        let mut grants: Vec<Grant> = (0..100).map(|_| Grant::new(64, &mut budget)).collect();
        for (at, wanted) in wishes {
            grants[at].need(wanted, 0, &mut budget);
            prop_assert!(grants[at].window() >= wanted.min(FRAME_UNITS));
            prop_assert!(!grants[at].is_short());
        }
        let sum: u64 = grants.iter().map(Grant::window).sum();
        prop_assert!(sum <= SESSION_UNITS_MAX + FRAME_RESERVE_UNITS, "{}", sum);
    }
}
