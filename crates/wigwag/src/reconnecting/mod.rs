//! References that come back: after the end of a session, or of their actor, they attach to the
//! next incarnation of the actor.
//!
//! `Reconnecting` is a route that leads to one [`Remote`] after the other; `attachments.rs` decides
//! which. One task for each address, in `task.rs`, dials the peer and attaches all references to its
//! actors. Between two incarnations callers wait, each with its own time limit; the outcome of calls
//! that were sent before is that of their session.

pub(crate) mod attachments;
pub(crate) mod pipeline;
pub(crate) mod task;
mod route;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::Waker;
use std::time::Duration;

use wigwag_actor::lifecycle::handle::fresh_number;
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::{Attempt, CallError, CallErrorKind, Interface, Reason, Route, Slot, Ticket};
use wigwag_net::clock;
use wigwag_net::transport::Boxed;
use wigwag_spin::SpinPolicy;

use crate::error::NodeError;
use crate::events::SessionChange;
use crate::reconnecting::attachments::{Attachments, Way};
use crate::reconnecting::task::{Peer, Reattach};
use crate::send::remote::Remote;
use crate::session::attach::AttachTo;
use crate::session::attach::routes::RouteKey;
use crate::session::{Session, buffers};

/// A route to an actor that is attached anew after the end of a session.
pub(crate) struct Reconnecting<I: Interface> {
    /// The name under which the peer exports the actor.
    name: String,
    target: Arc<str>,
    attachments: RwLock<Attachments<Arc<Remote<I>>>>,
    peer: Arc<Peer>,
    run_owner: RunOwner,
    watch: Duration,
    spin: SpinPolicy,
}

impl<I: Interface> Reconnecting<I> {
    /// Creates a route that begins with `first`, which no call was made on.
    pub(crate) fn new(
        first: Remote<I>,
        name: String,
        watch: Duration,
        peer: Arc<Peer>,
    ) -> Arc<Reconnecting<I>> {
        let (target, run_owner) = (first.target().clone(), first.run_owner());
        let first = Arc::new(first);
        let route = Arc::new(Reconnecting {
            name,
            target,
            attachments: RwLock::new(Attachments::new(first.clone())),
            peer,
            run_owner,
            watch,
            spin: SpinPolicy::new(watch),
        });
        let reattached: Arc<dyn Reattach> = route.clone();
        route.peer.serve(&reattached);
        // Only now: the task forgets a peer that it serves no reference of.
        route.watch_incarnation(&first);
        route
    }

    /// The route that a reference to the same name and actor has already; otherwise this one, which
    /// is shared from now on.
    pub(crate) fn shared(self: Arc<Self>) -> Arc<Reconnecting<I>> {
        let last = self.read().last().cloned();
        match last {
            Some(remote) => self.share_over(&remote),
            None => self,
        }
    }

    /// As [`shared`](Self::shared), among the routes of the session of `remote`.
    fn share_over(self: Arc<Self>, remote: &Remote<I>) -> Arc<Reconnecting<I>> {
        let Some(actor) = remote.actor() else { return self };
        let key = RouteKey::new::<Reconnecting<I>>(actor, &self.name, self.watch);
        remote.session().share_route(key, &self)
    }

    #[inline]
    fn read(&self) -> RwLockReadGuard<'_, Attachments<Arc<Remote<I>>>> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.attachments.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Attachments<Arc<Remote<I>>>> {
        self.attachments.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present incarnation. Between two, a sender with a waker is parked.
    #[inline]
    fn present<T>(
        &self,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Result<(u32, Arc<Remote<I>>), Attempt<T>> {
        let attachments = self.read();
        match attachments.way() {
            Way::Attached(number, remote) if !remote.session().has_ended() => {
                if ticket.is_parked() {
                    ticket.renew(attachments.tag());
                }
                Ok((number, remote.clone()))
            }
            _ => {
                drop(attachments);
                self.wait(ticket, waker)
            }
        }
    }

    #[cold]
    fn wait<T>(
        &self,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Result<(u32, Arc<Remote<I>>), Attempt<T>> {
        self.settle();
        let mut attachments = self.write();
        match attachments.way() {
            Way::Attached(number, remote) => {
                let present = (number, remote.clone());
                ticket.renew(attachments.tag());
                Ok(present)
            }
            Way::Over(why) => {
                let error = CallError::new(CallErrorKind::NotDelivered, &self.target);
                Err(Attempt::Failed(Box::new(error.with_detail(why))))
            }
            Way::Detached => match waker {
                Some(waker) => {
                    attachments.park(ticket, waker);
                    Err(Attempt::Full)
                }
                None => {
                    let error = CallError::new(CallErrorKind::NotDelivered, &self.target);
                    let error = match attachments.disconnection(clock::now()) {
                        Some(gone) => error.while_disconnected(gone),
                        None => error,
                    };
                    Err(Attempt::Failed(Box::new(error)))
                }
            },
        }
    }

    /// Tells this route of the end of `remote`, its present incarnation.
    fn watch_incarnation(self: &Arc<Self>, remote: &Remote<I>) {
        let route = Arc::downgrade(self);
        let watcher = Box::new(move |_: &Reason| {
            if let Some(route) = route.upgrade() {
                route.settle();
            }
        });
        let watched = remote.watch_end(fresh_number(), watcher);
        if watched.is_err() {
            self.settle();
        }
    }

    /// Detaches if the present incarnation has ended, for good if no other one will be attached.
    fn settle(&self) {
        self.note_end();
        // Asked for after the detachment: either the task sees that, or this sees the task's end.
        if let Some(why) = self.peer.over() {
            self.end(why);
        }
    }

    /// Detaches if the present incarnation has ended.
    fn note_end(&self) {
        let attachments = self.read();
        let Way::Attached(number, remote) = attachments.way() else { return };
        let remote = remote.clone();
        drop(attachments);
        if let Some(why) = remote.ended() {
            self.lose(number, &why);
        }
    }

    /// Notes that incarnation `number` takes no calls any more.
    fn lose(&self, number: u32, why: &Arc<str>) {
        let attachments = self.read();
        let Way::Attached(present, remote) = attachments.way() else { return };
        let session = remote.session().clone();
        drop(attachments);
        if present == number && self.write().detach(number, why, clock::now()) {
            // Calls of this turn that wait for the old session must not be followed by others of
            // this reference on their way there.
            buffers::publish(&session);
            self.peer.wake().notify_one();
        }
    }

    /// True if a call may go to the next incarnation instead of failing with `error`: it was not
    /// sent, because the session or the actor has ended, or the peer is closing. A process that
    /// ends may announce the end of its actors before that of the session.
    fn may_wait(&self, number: u32, error: &CallError) -> bool {
        use CallErrorKind as K;
        let is_lost = matches!(error.kind, K::NotDelivered | K::Draining | K::ActorStopped);
        if !is_lost || self.peer.over().is_some() {
            return false;
        }
        let why = match &error.detail {
            Some(detail) => (**detail).into(),
            None => error.kind.to_string().into(),
        };
        self.lose(number, &why);
        true
    }

    /// Sends a call to the present incarnation, or to the next one if the present one is lost.
    #[inline]
    fn send<T>(
        &self,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        mut send: impl FnMut(&Remote<I>, &mut Ticket) -> Attempt<T>,
    ) -> Result<(u32, T), Attempt<Slot>> {
        loop {
            let (number, remote) = self.present(ticket, waker)?;
            match send(&remote, ticket) {
                Attempt::Sent(sent) => return Ok((number, sent)),
                Attempt::Full => return Err(Attempt::Full),
                Attempt::Failed(error) if self.may_wait(number, &error) => {}
                Attempt::Failed(error) => return Err(Attempt::Failed(error)),
            }
        }
    }

    /// As [`send`](Self::send), for a tell or a stream: nothing that comes back has to know the
    /// incarnation.
    #[inline]
    fn tell_by<T>(
        &self,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        tell: impl FnMut(&Remote<I>, &mut Ticket) -> Attempt<T>,
    ) -> Attempt<T> {
        match self.send(ticket, waker, tell) {
            Ok((_, told)) => Attempt::Sent(told),
            Err(Attempt::Failed(error)) => Attempt::Failed(error),
            Err(_) => Attempt::Full,
        }
    }

    /// The incarnation of an ask that was sent, and its slot there.
    #[inline]
    fn asked(&self, slot: Slot) -> Option<(Arc<Remote<I>>, Slot)> {
        let attachments = self.read();
        let (remote, slot) = attachments.inner_slot(slot)?;
        Some((remote.clone(), slot))
    }
}

impl<I: Interface> Reattach for Reconnecting<I> {
    fn is_detached(&self) -> bool {
        self.note_end();
        matches!(self.read().way(), Way::Detached)
    }

    fn plan(&self, at: Option<wigwag_wire::Time>) {
        self.write().plan(at);
    }

    fn failed(&self, why: &str) {
        self.write().failed(why);
    }

    fn attach(self: Arc<Self>, session: Arc<Session>) -> Boxed<'static, Result<(), NodeError>> {
        Box::pin(async move {
            let former = self.read().last().cloned();
            let remote = Remote::attach(
                session.clone(),
                AttachTo::Name(&self.name),
                &self.target,
                self.watch,
            )
            .await?;
            let tag = self.read().next_tag();
            let remote = Arc::new(remote.into_one_of(self.run_owner, tag));
            let is_done = |former: &Arc<Remote<I>>| former.session().asks.are_all_free();
            let Some((since, wakers)) = self.write().attach(remote.clone(), is_done) else {
                return Ok(());
            };
            // References that are fetched from now on share this route, unless one was faster.
            self.clone().share_over(&remote);
            let what = SessionChange::Reattached {
                target: self.target.clone(),
                after: clock::now().since(since),
                restarted: former.as_ref().is_none_or(|former| {
                    former.session().identity.incarnation != session.identity.incarnation
                }),
            };
            announce_after(former.map(|former| former.session().clone()), session, what);
            wakers.into_iter().for_each(Waker::wake);
            self.watch_incarnation(&remote);
            Ok(())
        })
    }

    fn end(&self, why: &str) {
        let (wakers, end_watchers) = self.write().end(why);
        wakers.into_iter().for_each(Waker::wake);
        end_watchers.tell(&Reason::NodeClosed);
    }
}

/// Announces a return behind the end of the `former` session, whose announcement waits for the turns
/// that are open.
fn announce_after(former: Option<Arc<Session>>, session: Arc<Session>, what: SessionChange) {
    let former = former.filter(|former| {
        let sending = former.sending();
        sending.ended.is_some() && !sending.is_end_told
    });
    let Some(former) = former else { return session.announce(what) };
    tokio::spawn(async move {
        former.end_announced().await;
        session.announce(what);
    });
}

impl<I: Interface> Drop for Reconnecting<I> {
    fn drop(&mut self) {
        // The task may have nothing to do any more.
        self.peer.wake().notify_one();
    }
}
