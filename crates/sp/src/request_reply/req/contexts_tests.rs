//! Contexts of req and rep together: in any order of questions, answers, cancellations and losses,
//! each context gets the answer to its own last question, and nothing else.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Rep;
use crate::limits::{CONTEXTS_MAX, OUTBOX_MESSAGES_MAX};

const NOW: Time = Time::START;
const FIRST: PipeId = PipeId(1);

#[derive(Clone, Debug)]
enum Step {
    /// A context asks.
    Ask(usize),
    /// A context cancels its question.
    Cancel(usize),
    /// A context is dropped, and a new one takes its place.
    Renew(usize),
    /// Messages go over a pipe, in both directions.
    Carry(usize),
    /// A worker takes a request, abandoning the one it had.
    Take(usize),
    /// A worker answers.
    Answer(usize),
    /// A pipe breaks and is made again.
    Break(usize),
    /// This many seconds pass.
    Wait(u64),
    /// A context checks whether its answer has arrived.
    Receive(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let asker = 0..=CONTEXTS_MAX;
    prop_oneof![
        4 => asker.clone().prop_map(Step::Ask),
        1 => asker.clone().prop_map(Step::Cancel),
        1 => asker.clone().prop_map(Step::Renew),
        6 => (0..2_usize).prop_map(Step::Carry),
        4 => (0..3_usize).prop_map(Step::Take),
        4 => (0..3_usize).prop_map(Step::Answer),
        1 => (0..2_usize).prop_map(Step::Break),
        1 => (0..3_u64).prop_map(Step::Wait),
        4 => asker.prop_map(Step::Receive),
    ]
}

/// One req with its contexts, and one rep with three workers, joined by two pipes.
struct World {
    req: Req,
    rep: Rep,
    askers: Vec<(ContextId, Option<String>)>,
    workers: Vec<(ContextId, VecDeque<Bytes>)>,
    pipes: [PipeId; 2],
    asked: u32,
    now: Time,
}

impl World {
    fn new() -> World {
        let (mut req, mut rep) = (Req::new(0, Some(Duration::from_secs(2))), Rep::new());
        let pipes = [PipeId(1), PipeId(2)];
        for pipe in pipes {
            req.open(pipe, NOW).unwrap();
            rep.open(pipe, NOW).unwrap();
        }
        let mut askers = alloc::vec![(ContextId::SOCKET, None)];
        for _ in 0..CONTEXTS_MAX {
            askers.push((req.open_context().unwrap(), None));
        }
        let mut workers = alloc::vec![(ContextId::SOCKET, VecDeque::new())];
        for _ in 0..2 {
            workers.push((rep.open_context().unwrap(), VecDeque::new()));
        }
        World { req, rep, askers, workers, pipes, asked: 0, now: NOW }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Ask(who) => {
                self.asked += 1;
                let question = format!("question {} of {who}", self.asked);
                let context = self.askers[who].0;
                if self.req.send_in(context, Bytes::from(question.clone()), self.now).is_ok() {
                    self.askers[who].1 = Some(question);
                }
            }
            Step::Cancel(who) => {
                let context = self.askers[who].0;
                self.req.cancel(context, self.req.round_in(context), self.now);
                self.askers[who].1 = None;
            }
            Step::Renew(who) if who > 0 => {
                self.req.close_context(self.askers[who].0, self.now);
                self.askers[who] = (self.req.open_context().unwrap(), None);
            }
            Step::Renew(_) => {}
            Step::Carry(pipe) => self.carry(self.pipes[pipe]),
            Step::Take(worker) => {
                let (context, taken) = &mut self.workers[worker];
                if let Ok(question) = self.rep.recv_in(*context, self.now) {
                    *taken = [question].into();
                }
            }
            Step::Answer(worker) => self.answer(worker),
            Step::Break(pipe) => self.reconnect(pipe),
            Step::Wait(seconds) => {
                self.now = self.now + Duration::from_secs(seconds);
                self.req.tick(self.now);
                assert!(self.req.deadline().is_none_or(|due| due > self.now));
            }
            Step::Receive(who) => self.receive(who),
        }
        while self.req.next_event().is_some() {}
        while self.rep.next_event().is_some() {}
    }

    fn carry(&mut self, pipe: PipeId) {
        while !self.rep.is_paused(pipe)
            && let Some(request) = self.req.transmit(pipe)
        {
            let received = self.rep.receive(pipe, Bytes::from(request.to_vec()), self.now);
            assert_eq!(received, Received::Queued);
        }
        while let Some(reply) = self.rep.transmit(pipe) {
            self.req.receive(pipe, Bytes::from(reply.to_vec()), self.now);
        }
        if self.req.deadline().is_some_and(|due| due <= self.now) {
            self.req.tick(self.now);
        }
    }

    fn answer(&mut self, worker: usize) {
        let (context, taken) = &mut self.workers[worker];
        if let Some(question) = taken.pop_front() {
            let answer = [b"re ", &question[..]].concat();
            self.rep.send_in(*context, Bytes::from(answer), self.now).unwrap();
        }
    }

    fn reconnect(&mut self, pipe: usize) {
        let old = self.pipes[pipe];
        self.req.close(old, self.now);
        self.rep.close(old, self.now);
        let new = PipeId(old.0 + 2);
        self.req.open(new, self.now).unwrap();
        self.rep.open(new, self.now).unwrap();
        self.pipes[pipe] = new;
    }

    fn receive(&mut self, who: usize) {
        let (context, question) = &mut self.askers[who];
        match (self.req.recv_in(*context, self.now), &question) {
            (Ok(answer), Some(asked)) => {
                assert_eq!(answer, format!("re {asked}"));
                *question = None;
            }
            (Err(RecvError::Empty), Some(_)) | (Err(RecvError::NoRequest), None) => {}
            (other, _) => panic!("{who} asked {question:?} and got {other:?}"),
        }
    }

    /// Runs everything that can still happen.
    fn settle(&mut self) {
        for _ in 0..2 * (CONTEXTS_MAX + 1) {
            for pipe in self.pipes {
                self.carry(pipe);
            }
            for worker in 0..self.workers.len() {
                self.take(&Step::Take(worker));
                self.take(&Step::Answer(worker));
            }
        }
        self.take(&Step::Wait(3));
    }
}

proptest! {
    #[test]
    fn each_context_gets_the_answer_to_its_own_question(
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        // Three resends: a request that a worker left unanswered is sent again.
        for _ in 0..3 {
            world.settle();
        }
        for who in 0..=CONTEXTS_MAX {
            world.receive(who);
            prop_assert_eq!(&world.askers[who].1, &None, "every question is answered");
        }
        prop_assert_eq!(world.req.deadline(), None, "nothing is under way");
    }
}

#[test]
fn each_context_has_its_own_resend_timer() {
    let mut req = Req::new(0, Some(Duration::from_secs(2)));
    req.open(FIRST, NOW).unwrap();
    let late = req.open_context().unwrap();
    req.send(Bytes::from_static(b"first"), NOW).unwrap();
    let second = NOW + Duration::from_secs(1);
    req.send_in(late, Bytes::from_static(b"second"), second).unwrap();
    while req.transmit(FIRST).is_some() {}
    assert_eq!(req.deadline(), Some(NOW + Duration::from_secs(2)));
    req.tick(NOW + Duration::from_secs(2));
    assert_eq!(req.transmit(FIRST).unwrap().body.slice(4..), "first");
    assert_eq!(req.transmit(FIRST), None);
    assert_eq!(req.deadline(), Some(NOW + Duration::from_secs(3)));
    req.close_context(late, second);
    assert_eq!(req.deadline(), Some(NOW + Duration::from_secs(4)));
    assert_eq!((req.counters().cancelled, req.counters().resent), (1, 1));
}

/// A full peer refuses a further question, unless the context's own old one makes room for it.
#[test]
fn a_full_peer_refuses_a_question_unless_it_replaces_the_contexts_own() {
    let mut req = Req::with_first_id(0);
    req.open(FIRST, NOW).unwrap();
    let contexts: Vec<ContextId> =
        (0..OUTBOX_MESSAGES_MAX).map(|_| req.open_context().unwrap()).collect();
    for context in &contexts {
        req.send_in(*context, Bytes::from_static(b"old"), NOW).unwrap();
    }
    assert_eq!(req.send(Bytes::new(), NOW).unwrap_err().why, Refusal::Full);
    assert!(!req.has_room());
    req.send_in(contexts[1], Bytes::from_static(b"new"), NOW).unwrap();
    assert_eq!(req.counters().cancelled, 1);
    assert!(req.transmit(FIRST).is_some() && req.transmit(FIRST).is_some());
    assert_eq!(req.deadline(), Some(NOW), "there is room, and only a tick can use it");
    req.tick(NOW);
    let rest: Vec<Bytes> = core::iter::from_fn(|| req.transmit(FIRST))
        .map(|message| message.body.slice(4..))
        .collect();
    assert_eq!(rest, ["old", "new"]);
    assert_eq!(req.counters().resent, 0, "the new one waited for room and was sent once");
}

#[test]
fn a_closed_or_cancelled_context_receives_no_late_reply() {
    let mut req = Req::with_first_id(LAST_WORD);
    req.open(FIRST, NOW).unwrap();
    let context = req.open_context().unwrap();
    req.send_in(context, Bytes::from_static(b"Q"), NOW).unwrap();
    assert_eq!(req.transmit(FIRST).unwrap().to_vec(), b"\x80\0\0\x01Q");
    req.cancel(context, req.round_in(context) + 1, NOW);
    assert_eq!(req.recv_in(context, NOW), Err(RecvError::Empty), "another round changes nothing");
    req.cancel(context, req.round_in(context), NOW);
    let late = req.receive(FIRST, Bytes::from_static(b"\x80\0\0\x01A"), NOW);
    assert_eq!(late, Received::Dropped(DropReason::Late));
    assert_eq!(req.recv_in(context, NOW), Err(RecvError::NoRequest));
    req.close_context(context, NOW);
    assert_eq!(req.recv_in(context, NOW), Err(RecvError::NoContext));
    let refused = req.send_in(context, Bytes::new(), NOW).unwrap_err();
    assert_eq!(refused.why, Refusal::NoContext);
    assert_eq!(req.deadline(), None);
}
