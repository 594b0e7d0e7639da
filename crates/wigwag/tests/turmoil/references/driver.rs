//! A task of a node that does one random thing after the other with the references that it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use wigwag::groups::{Groups, Router};
use wigwag::lifecycle::Alive;
use wigwag::{ActorOptions, AskError, CallErrorKind, Node, Refused};
use wigwag_testkit::ledger::in_time;

use super::desk::{Desk, DeskRef, spawn};
use super::world::{Faults, STORM, World};
use crate::PATIENCE;
use crate::stage::Draws;

/// References that a driver holds at most.
const POOL_MAX: usize = 14;
/// A limit that no call reaches: cuts are shorter.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// A reference of a driver.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) desk: DeskRef,
    /// The sender of its numbered calls.
    pub(super) sender: u64,
    /// The actor, if it is known.
    pub(super) id: Option<u64>,
    /// It may lead to an answer that has not come.
    pub(super) is_piped: bool,
}

pub(super) struct Driver {
    pub(super) world: Arc<World>,
    /// The number of its host.
    pub(super) index: usize,
    pub(super) node: Node,
    pub(super) draws: Draws,
    pub(super) pool: Vec<Entry>,
    groups: Groups<Desk>,
    router: Router<Desk>,
    /// The scope of the group that its node exports.
    pub(super) team: Groups<Desk>,
    /// The addresses of the exported actors of other nodes.
    addresses: Vec<String>,
    /// Its node is closed.
    is_over: Arc<AtomicBool>,
}

/// The outcome of an ask, without the message.
pub(super) fn asked<T, M>(outcome: Result<T, AskError<M>>) -> Result<T, CallErrorKind> {
    outcome.map_err(|error| error.error().kind)
}

/// The outcome of a tell, without the message.
pub(super) fn told<M>(outcome: Result<(), Refused<M>>) -> Result<(), CallErrorKind> {
    outcome.map_err(|refused| refused.error.kind)
}

impl Driver {
    pub(super) fn new(
        (world, index, node): (&Arc<World>, usize, &Node),
        (addresses, team): (Vec<String>, &Groups<Desk>),
        draws: Draws,
    ) -> Driver {
        let (world, node, pool) = (world.clone(), node.clone(), Vec::new());
        let (groups, router, team) = (Groups::new(), Router::new(), team.clone());
        Driver {
            world,
            index,
            node,
            draws,
            pool,
            groups,
            router,
            team,
            addresses,
            is_over: Arc::default(),
        }
    }

    /// Ends the driver after its current step, once it is set.
    pub(super) fn end(&self) -> Arc<AtomicBool> {
        self.is_over.clone()
    }

    /// Goes on until the storm is over, or its node is closed.
    pub(super) async fn run(&mut self) {
        while self.world.phase() == STORM && !self.is_over.load(Ordering::SeqCst) {
            in_time(PATIENCE, self.step()).await;
            let pause = if self.one_in(3) { self.draws.pause(1, 25) } else { Duration::ZERO };
            sleep(pause).await;
        }
    }

    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.draws.between(1, times) == 1
    }

    /// A limit for a call. One in five is short.
    pub(super) fn limit(&mut self) -> Duration {
        if self.one_in(5) { self.draws.pause(1, 40) } else { LONG }
    }

    /// The index of a reference, if there is any.
    fn place(&mut self) -> Option<usize> {
        let last = self.pool.len().checked_sub(1)? as u64;
        Some(self.draws.between(0, last) as usize)
    }

    pub(super) fn add(&mut self, desk: DeskRef, how: &str, id: Option<u64>) {
        // The target of a piped reference is the ask that it waits for.
        let is_piped = desk.as_ref().target().ends_with("()");
        let how = format!("{how} at {}: {}", self.index, desk.as_ref().target());
        let sender = self.world.new_sender(how);
        self.pool.push(Entry { desk, sender, id, is_piped });
        while self.pool.len() > POOL_MAX
            && let Some(at) = self.place()
        {
            self.pool.swap_remove(at);
        }
    }

    /// Notes the outcome of a call, and whether it may be so.
    pub(super) fn outcome<T>(
        &self,
        what: &str,
        limit: Duration,
        entry: &Entry,
        outcome: Result<T, CallErrorKind>,
    ) -> Option<T> {
        use CallErrorKind as K;
        let kind = match outcome {
            Ok(value) => {
                self.world.state().successes += 1;
                return Some(value);
            }
            Err(kind) => kind,
        };
        let is_allowed = match kind {
            K::ActorStopped | K::ReplyDropped | K::NoSuchActor | K::Full => true,
            // Streams through a relay.
            K::NotSerializable | K::NotDelivered | K::Unknown => true,
            K::Timeout(_) | K::DeadlinePassed => limit < LONG,
            // The own node is being closed, or that of the actor.
            K::Draining => self.world.faults == Faults::Closings,
            // A reference that comes home over another session than the one that it was lent over.
            K::BadReply | K::BadArguments => self.world.loses_sessions(),
            _ => false,
        };
        if !is_allowed {
            let how = self.world.state().senders[entry.sender as usize].how.clone();
            self.world.wrong(format!("{what} of {how} ended with {kind:?}"));
        }
        None
    }

    async fn step(&mut self) {
        let step = self.draws.between(0, 36);
        let (Some(at), Some(other)) = (self.place(), self.place()) else {
            return self.fetch().await;
        };
        let (entry, other, limit) = (self.pool[at].clone(), self.pool[other].clone(), self.limit());
        match step {
            0 => self.fetch().await,
            1..=4 => self.tell(&entry).await,
            5..=6 => self.ask(&entry, limit).await,
            7 => self.give_up(&entry).await,
            8..=10 => self.put(&entry, &other, limit).await,
            11..=15 => self.receive(&entry, &other, limit).await,
            16..=19 => self.pipe(&entry),
            20 => drop(self.pool.swap_remove(at)),
            21 => self.pool.push(entry),
            22 => self.identify(at, &entry, limit).await,
            23..=24 => self.watch(&entry, &other, limit).await,
            25..=26 => self.read_numbers(&entry).await,
            27..=28 => self.send_rows(&entry, limit).await,
            29 => self.stop(&entry).await,
            30 => self.forget(&entry).await,
            31 => self.group(&entry),
            32 => self.desks_in_streams(&entry, limit).await,
            33 => self.link(&entry, &other).await,
            34..=35 => self.team(&entry),
            _ => self.spawn(),
        }
    }

    async fn fetch(&mut self) {
        let at = self.draws.between(0, self.addresses.len() as u64 - 1) as usize;
        match self.node.actor::<Desk>(&self.addresses[at]).await {
            Ok(desk) => self.add(desk, "fetched", None),
            Err(error) if self.world.is_calm() => {
                self.world.wrong(format!("{} was not found: {error}", self.addresses[at]));
            }
            Err(_) => {}
        }
    }

    fn spawn(&mut self) {
        let is_bounded = self.one_in(3);
        let options = ActorOptions::default();
        let options = if is_bounded { options.mailbox_calls(4) } else { options };
        let (id, desk) = spawn(&self.world, self.index, options);
        self.add(desk, "spawned", Some(id));
    }

    async fn identify(&mut self, at: usize, entry: &Entry, limit: Duration) {
        let answer = asked(entry.desk.id().timeout(limit).ask().await);
        let id = self.outcome("id", limit, entry, answer);
        self.pool[at].id = id.or(entry.id);
    }

    async fn forget(&mut self, entry: &Entry) {
        self.outcome("forget", LONG, entry, told(entry.desk.forget().timeout(LONG).tell().await));
    }

    async fn watch(&mut self, entry: &Entry, other: &Entry, limit: Duration) {
        let Some(target) = other.id.filter(|_| !other.is_piped) else { return };
        let call = entry.desk.watch(other.desk.clone(), target);
        self.outcome("watch", limit, entry, asked(call.timeout(limit).ask().await));
    }

    async fn stop(&mut self, entry: &Entry) {
        let is_exported = |id: u64| self.world.state().actors[id as usize].is_exported;
        let ways = if entry.id.is_none_or(is_exported) { 1 } else { 3 };
        let handle = entry.desk.handle().ok();
        match self.draws.between(0, ways) {
            0 => drop(entry.desk.fail().timeout(LONG).tell().await),
            1 => drop(entry.desk.stop().timeout(LONG).tell().await),
            2 => drop(handle.map(|handle| handle.kill())),
            _ => drop(handle.map(|handle| handle.stop())),
        }
    }

    fn group(&mut self, entry: &Entry) {
        match self.draws.between(0, 6) {
            0..=1 => drop(self.groups.join("all", &entry.desk)),
            2 => drop(self.groups.leave("all", &entry.desk)),
            3 => drop(self.groups.tell_all("all", |desk| desk.find())),
            4 => self.router.add(&entry.desk),
            5 => drop(self.router.remove(&entry.desk)),
            _ => {
                if let Ok(desk) = self.router.pick() {
                    self.add(desk, "picked", None);
                }
            }
        }
    }
}
