//! Three actors in a ring, each of which has the next one do its work.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wigwag::{Actor, ActorOptions, CallErrorKind, Handle, Local, lifecycle::Alive};

use super::{Counts, Guard, SECOND, Tally, kind};

/// How a member has the next one go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Asks,
    Tells,
}

/// A call that did not get through, and how long it was tried.
pub(super) struct Held {
    pub(super) after: Duration,
    pub(super) kind: CallErrorKind,
    pub(super) message: MemberMessage,
}

pub(super) struct Member {
    way: Way,
    next: Option<MemberRef>,
    /// Numbers of the calls that were gone through.
    pub(super) came: Vec<u32>,
    pub(super) held: Vec<Held>,
    /// Its next call waits for this, once.
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

    /// Has the next member go on, so many times; says how the chain has ended.
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

/// The members and what counts all that they are sent.
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

    /// So many askers of each member, each with a call of its own; no member takes one before its
    /// mailbox is as full as they can make it.
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

    /// Each member answers when it has come so far.
    pub(super) async fn goes_on(&self) {
        for member in &self.members {
            let call = member.plain(Local(self.tally.guard())).timeout(60 * SECOND);
            assert_eq!(kind(call.ask().await), Ok(()));
        }
    }

    /// Ends in good order: members hold each other, so they part first.
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
