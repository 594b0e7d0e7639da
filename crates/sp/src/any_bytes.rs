//! Any sequence of events with any bytes, for every protocol: no panic, no bound crossed, and every
//! message accounted for.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use wigwag_wire::Time;

use crate::limits::{INBOX_MESSAGES_MAX, LEFT_MESSAGES_MAX, OUTBOX_MESSAGES_MAX};
use crate::raw::RawKind;
use crate::{
    Bus, Pair0, Pair1, Pair1Many, PipeId, Protocol, ProtocolEvent, Pub, Pull, Push, Raw,
    RawMessage, Received, Rep, Req, Respondent, Setting, Star, Sub, Surveyor,
};

/// Pipes that take part; few, so that events interact.
const PIPES: u32 = 3;

fn protocols() -> Vec<Box<dyn Protocol>> {
    let second = Duration::from_secs(1);
    let mut sub = Sub::new();
    for topic in [&b"\0"[..], b"\x80\0\0\x08b"] {
        sub.set(Setting::Subscribe(Bytes::from_static(topic))).unwrap();
    }
    let cooked: Vec<Box<dyn Protocol>> = alloc::vec![
        Box::new(Pair1::new()),
        Box::new(Pair1Many::new()),
        Box::new(Req::new(7, Some(second))),
        Box::new(Req::new(7, None)),
        Box::new(Rep::new()),
        Box::new(Push::new()),
        Box::new(Pull::new()),
        Box::new(Pair0::new()),
        Box::new(Pub::new()),
        Box::new(sub),
        Box::new(Surveyor::new(7)),
        Box::new(Respondent::new()),
        Box::new(Bus::new()),
        Box::new(Star::new()),
    ];
    let raw = RawKind::ALL.map(|kind| Box::new(Raw::new(kind)) as Box<dyn Protocol>);
    cooked.into_iter().chain(raw).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Open(u32),
    Close(u32),
    Send,
    SendRaw(Vec<u8>),
    Transmit(u32),
    Receive(u32, Vec<u8>),
    Recv,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let pipe = 0..PIPES;
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..48),
        // A header that several protocols accept.
        Just(b"\x80\0\0\x08body".to_vec()),
        Just(b"\0\0\0\x01body".to_vec()),
    ];
    let header = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..13),
        // A pipe that may be open: alone, with hops, and with a request's id.
        (0..PIPES).prop_map(|pipe| pipe.to_be_bytes().to_vec()),
        (0..PIPES).prop_map(|pipe| [pipe, 1].map(u32::to_be_bytes).concat()),
        (0..PIPES).prop_map(|pipe| [pipe, 0x8000_0008].map(u32::to_be_bytes).concat()),
    ];
    prop_oneof![
        2 => pipe.clone().prop_map(Step::Open),
        1 => pipe.clone().prop_map(Step::Close),
        3 => Just(Step::Send),
        3 => header.prop_map(Step::SendRaw),
        3 => pipe.clone().prop_map(Step::Transmit),
        4 => (pipe, bytes).prop_map(|(pipe, bytes)| Step::Receive(pipe, bytes)),
        3 => Just(Step::Recv),
        1 => (0..3_u64).prop_map(Step::Wait),
    ]
}

/// One protocol and what an observer knows about it.
struct Watched {
    protocol: Box<dyn Protocol>,
    open: BTreeSet<u32>,
    now: Time,
    queued: u64,
}

impl Watched {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Open(pipe) => {
                if !self.open.contains(pipe) && self.protocol.open(PipeId(*pipe), self.now).is_ok()
                {
                    self.open.insert(*pipe);
                }
            }
            Step::Close(pipe) => {
                self.protocol.close(PipeId(*pipe), self.now);
                self.open.remove(pipe);
            }
            Step::Send => {
                let body = Bytes::from_static(b"sent");
                if let Err(refused) = self.protocol.send(body.clone(), self.now) {
                    assert_eq!(refused.body, body);
                }
            }
            Step::SendRaw(header) => {
                let (header, body) = (Bytes::from(header.clone()), Bytes::from_static(b"sent"));
                let message = RawMessage { header, body };
                if let Err(refused) = self.protocol.send_raw(message.clone(), self.now) {
                    assert_eq!(refused.message, message);
                }
            }
            Step::Transmit(pipe) => {
                let message = self.protocol.transmit(PipeId(*pipe));
                assert!(message.is_none() || self.open.contains(pipe));
            }
            Step::Receive(pipe, bytes) => self.receive(*pipe, bytes),
            Step::Recv => {
                let _ = self.protocol.recv(self.now);
            }
            Step::Wait(seconds) => {
                self.now = self.now + Duration::from_secs(*seconds);
                self.protocol.tick(self.now);
                assert!(self.protocol.deadline().is_none_or(|due| due > self.now));
            }
        }
        self.look_after();
    }

    fn receive(&mut self, pipe: u32, bytes: &[u8]) {
        let id = PipeId(pipe);
        let received = self.protocol.receive(id, Bytes::copy_from_slice(bytes), self.now);
        match received {
            Received::Queued => {
                assert!(self.open.contains(&pipe));
                self.queued += 1;
            }
            Received::Dropped(_) | Received::Unwanted => {}
            Received::Close(_) => {
                self.protocol.close(id, self.now);
                self.open.remove(&pipe);
            }
        }
    }

    fn look_after(&mut self) {
        let mut asked = 0;
        while let Some(event) = self.protocol.next_event() {
            asked += 1;
            if let ProtocolEvent::Transmit(pipe)
            | ProtocolEvent::Resume(pipe)
            | ProtocolEvent::PipeSendReady(pipe) = event
            {
                assert!(pipe.0 < PIPES);
            }
        }
        let all = (OUTBOX_MESSAGES_MAX + INBOX_MESSAGES_MAX) * PIPES as usize + 4;
        assert!(asked <= all, "events are bounded by what there is");
        let counters = self.protocol.counters();
        assert!(counters.received <= self.queued);
        let waiting = self.queued - counters.received;
        let room = INBOX_MESSAGES_MAX * PIPES as usize * 2 + LEFT_MESSAGES_MAX;
        assert!(waiting - counters.dropped().min(waiting) <= room as u64);
    }
}

proptest! {
    #[test]
    fn any_sequence_of_events_keeps_every_bound(steps in prop::collection::vec(step(), 0..200)) {
        for protocol in protocols() {
            let mut watched = Watched {
                protocol,
                open: BTreeSet::new(),
                now: Time::START,
                queued: 0,
            };
            for step in &steps {
                watched.take(step);
            }
        }
    }

    /// For protocols in which a message has one receiver: once the socket is closed, every message
    /// that went in, from the user or from a pipe, has come out or was dropped and counted.
    #[test]
    fn every_message_comes_out_or_is_counted(steps in prop::collection::vec(step(), 0..200)) {
        let mut sub = Sub::new();
        sub.set(Setting::Subscribe(Bytes::from_static(b"\0"))).unwrap();
        let protocols: Vec<Box<dyn Protocol>> = alloc::vec![
            Box::new(Push::new()),
            Box::new(Pull::new()),
            Box::new(Pair0::new()),
            Box::new(Pair1::new()),
            Box::new(Rep::new()),
            Box::new(Respondent::new()),
            Box::new(sub),
        ];
        for mut protocol in protocols {
            let (mut open, mut into, mut out) = (BTreeSet::new(), 0, 0);
            for step in &steps {
                match step {
                    Step::Open(pipe) if !open.contains(pipe) => {
                        if protocol.open(PipeId(*pipe), Time::START).is_ok() {
                            open.insert(*pipe);
                        }
                    }
                    Step::Close(pipe) => {
                        protocol.close(PipeId(*pipe), Time::START);
                        open.remove(pipe);
                    }
                    Step::Send => into += u64::from(protocol.send(Bytes::new(), Time::START).is_ok()),
                    Step::SendRaw(header) => {
                        let header = Bytes::copy_from_slice(header);
                        let message = RawMessage { header, body: Bytes::new() };
                        into += u64::from(protocol.send_raw(message, Time::START).is_ok());
                    }
                    Step::Transmit(pipe) => {
                        out += u64::from(protocol.transmit(PipeId(*pipe)).is_some());
                    }
                    Step::Receive(pipe, bytes) => {
                        let message = Bytes::copy_from_slice(bytes);
                        into += 1;
                        let received = protocol.receive(PipeId(*pipe), message, Time::START);
                        if let Received::Close(_) = received {
                            // Closing the pipe accounts for it.
                            out += 1;
                            protocol.close(PipeId(*pipe), Time::START);
                            open.remove(pipe);
                        }
                    }
                    Step::Recv => out += u64::from(protocol.recv(Time::START).is_ok()),
                    Step::Open(_) | Step::Wait(_) => {}
                }
            }
            for pipe in open {
                protocol.close(PipeId(pipe), Time::START);
            }
            protocol.finish();
            let counters = protocol.counters();
            // A request without a reply was already received; it is counted as a missing reply.
            let gone = counters.dropped() - counters.dropped_abandoned + counters.filtered;
            prop_assert_eq!(into, out + gone, "{:?}: {:?}", protocol.number(), counters);
        }
    }

    /// A caller that pauses when asked to loses nothing: each queued body comes out, in order.
    #[test]
    fn pull_and_pair_lose_nothing_when_the_caller_honours_pauses(turns in prop::collection::vec(0..3_u8, 0..300)) {
        let pull: Box<dyn Protocol> = Box::new(Pull::new());
        for (head, mut protocol) in [(&b""[..], pull), (&[0, 0, 0, 1], Box::new(Pair1::new()))] {
            protocol.open(PipeId(0), Time::START).unwrap();
            let (mut given, mut taken) = (0_u32, 0_u32);
            for turn in &turns {
                if *turn > 0 && !protocol.is_paused(PipeId(0)) {
                    let message = [head, &given.to_be_bytes()].concat();
                    let received = protocol.receive(PipeId(0), Bytes::from(message), Time::START);
                    prop_assert_eq!(received, Received::Queued);
                    given += 1;
                } else if let Ok(body) = protocol.recv(Time::START) {
                    prop_assert_eq!(body.as_ref(), taken.to_be_bytes());
                    taken += 1;
                }
            }
            while let Ok(body) = protocol.recv(Time::START) {
                prop_assert_eq!(body.as_ref(), taken.to_be_bytes());
                taken += 1;
            }
            prop_assert_eq!(given, taken);
        }
    }
}
