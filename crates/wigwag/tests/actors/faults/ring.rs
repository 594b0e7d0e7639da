//! Three actors in a ring; each passes its work on to the next one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wigwag::{Actor, ActorOptions, CallErrorKind, Handle, Local, lifecycle::Alive};

use super::{Counts, Guard, SECOND, Tally, kind};

/// How a member passes a call on to the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Asks,
    Tells,
}

/// A call that was refused, and how long its sender tried.
pub(super) struct Held {
    pub(super) after: Duration,
    pub(super) kind: CallErrorKind,
    pub(super) message: MemberMessage,
}

pub(super) struct Member {
    way: Way,
    next: Option<MemberRef>,
    /// Numbers of the handled calls.
    pub(super) came: Vec<u32>,
    pub(super) held: Vec<Held>,
    /// The next call waits for this gate, once.
    pub(super) gate: Option<oneshot::Receiver<()>>,
    _state: Guard,
}

#[wigwag::actor]
impl Member {
    pub fn meet(&mut self, next: MemberRef) {
        self.next = Some(next);
    }

    pub fn part(&mut self) {
        self.next = None;
    }

    pub fn plain(&self, guard: Local<Guard>) {
        drop(guard);
    }

    /// Passes the call on for `hops` further members; answers with the end of the chain.
    pub async fn go_on(
        &mut self,
        number: u32,
        hops: u32,
        guard: Local<Guard>,
    ) -> Local<Result<(), CallErrorKind>> {
        self.came.push(number);
        if let Some(gate) = self.gate.take() {
            gate.await.unwrap();
        }
        let Some(next) = self.next.clone().filter(|_| hops > 0) else { return Local(Ok(())) };
        let (begun, call) = (Instant::now(), next.go_on(number, hops - 1, Local(guard.another())));
        Local(match self.way {
            Way::Asks => kind(call.ask().await).and_then(|end| end.0),
            Way::Tells => call.tell().await.map_err(|refused| {
                let (after, kind) = (begun.elapsed(), refused.error.kind);
                self.held.push(Held { after, kind, message: refused.message });
                kind
            }),
        })
    }
}

/// The members, and the tally of all values that they are sent.
pub(super) struct Ring {
    pub(super) members: [MemberRef; 3],
    capacity: usize,
    pub(super) tally: Arc<Tally>,
}

pub(super) fn member(way: Way, options: ActorOptions, tally: &Arc<Tally>) -> MemberRef {
    let (came, held) = (Vec::new(), Vec::new());
    Member { way, next: None, came, held, gate: None, _state: tally.guard() }.spawn_with(options)
}

impl Ring {
    pub(super) async fn new(capacity: usize, ways: [Way; 3], tally: &Arc<Tally>) -> Ring {
        let options = ActorOptions::default().mailbox_calls(capacity);
        let members = ways.map(|way| member(way, options.clone(), tally));
        for (at, next) in [(0, 1), (1, 2), (2, 0)] {
            members[at].meet(members[next].clone()).ask().await.unwrap();
        }
        Ring { members, capacity, tally: tally.clone() }
    }

    pub(super) fn handles(&self) -> [Handle; 3] {
        self.members.each_ref().map(|member| member.handle().unwrap())
    }

    /// Starts `askers` callers for each member, each with one call; no member takes a call before
    /// its mailbox is as full as these callers can make it.
    pub(super) async fn flood(
        &self,
        askers: u32,
        hops: u32,
        limit: Option<Duration>,
    ) -> Vec<JoinHandle<Result<(), CallErrorKind>>> {
        for handle in self.handles() {
            handle.suspend();
        }
        let calls = (0..askers * 3).map(|number| {
            let (member, guard) = (self.members[number as usize % 3].clone(), self.tally.guard());
            tokio::spawn(async move {
                let call = member.go_on(number, hops, Local(guard));
                let call = match limit {
                    Some(limit) => call.timeout(limit),
                    None => call,
                };
                kind(call.ask().await).and_then(|end| end.0)
            })
        });
        let calls = calls.collect();
        let full = self.capacity.min(askers as usize);
        for handle in self.handles() {
            while handle.waiting() < full {
                tokio::task::yield_now().await;
            }
        }
        for handle in self.handles() {
            handle.resume();
        }
        calls
    }

    /// Checks that each member answers once the calls before this one are handled.
    pub(super) async fn goes_on(&self) {
        for member in &self.members {
            let call = member.plain(Local(self.tally.guard())).timeout(60 * SECOND);
            assert_eq!(kind(call.ask().await), Ok(()));
        }
    }

    /// Ends all members in good order: they hold references to each other, which they drop first.
    pub(super) async fn end(self) {
        for member in &self.members {
            member.part().ask().await.unwrap();
        }
        let (handles, tally) = (self.handles(), self.tally.clone());
        drop(self);
        for handle in handles {
            handle.ended().await;
        }
        tally.nothing_is_left().await;
    }
}

pub(super) async fn count(
    asked: impl IntoIterator<Item = JoinHandle<Result<(), CallErrorKind>>>,
) -> Counts {
    let mut counts = Counts::default();
    for asked in asked {
        counts.add(asked.await.unwrap());
    }
    counts
}
