//! Links: two actors of which each ends with the other, in one process or in two.
//!
//! Within a process each end watches the other. Of two actors in two processes, the one that links
//! watches the end of its route to the other one, and the route tells the other process of this
//! actor's end: its session delivers that as the exit of a linked actor.

use std::sync::Arc;

use super::{NOT_KNOWN, This};
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::end_watchers::NotLinked;
use crate::lifecycle::handle::{AnyActor, Handle};
use crate::lifecycle::monitor::{Exit, TooManyWatchers};
use crate::lifecycle::watchers::{Watcher, WatcherKind};
use crate::reason::Reason;
use crate::reference::Ref;
use crate::reference::interface::Interface;
use crate::reference::route::{RemoteLink, Route};
use crate::reference::run_writer::RunOwner;

impl<I: Interface> This<I> {
    /// Links this actor to another: when one of them ends for a reason that was not wanted, so does
    /// the other, unless its [`Life::exited`](crate::Life::exited) says otherwise. Linking twice
    /// equals linking once. An actor that has ended already counts as ending now.
    ///
    /// A link belongs to the actor and not to one of its lives: a restart of a supervised actor is no
    /// end, the other one is not told of it, and the end of that one reaches the life that runs then.
    ///
    /// # Errors
    /// When one of the two has too many watchers.
    pub fn link(&self, actor: &Handle) -> Result<(), TooManyWatchers> {
        let (own, other) = (self.number(), actor.number());
        if own == other {
            return Ok(());
        }
        let this: Arc<dyn AnyActor> = self.mailbox.clone();
        let ours = Watcher {
            number: link(other),
            kind: WatcherKind::Link(Arc::downgrade(actor.actor_cell())),
        };
        let theirs = Watcher { number: link(own), kind: WatcherKind::Link(Arc::downgrade(&this)) };
        match actor.actor_cell().control().watch(theirs) {
            Ok(None) => {}
            Ok(Some(reason)) => {
                self.mailbox.order(ControlMessage::Exit(Exit::new(actor.actor_cell(), &reason)));
                return Ok(());
            }
            Err(_) => return Err(TooManyWatchers),
        }
        if self.mailbox.control().watch(ours).is_err() {
            drop(actor.actor_cell().control().unwatch(link(own)));
            return Err(TooManyWatchers);
        }
        Ok(())
    }

    /// Removes the link; `exited` is no longer called for it.
    pub fn unlink(&self, actor: &Handle) {
        drop(actor.actor_cell().control().unwatch(link(self.number())));
        drop(self.mailbox.control().unwatch(link(actor.number())));
        let is_it = |order: &ControlMessage| matches!(order, ControlMessage::Exit(exit) if exit.actor.as_ref() == Some(actor));
        self.mailbox.control().forget(is_it);
    }

    /// Links this actor to the actor of a reference, be it in this process or in another: when one of
    /// them ends for a reason that was not wanted, so does the other, unless its
    /// [`Life::exited`](crate::Life::exited) says otherwise. Linking twice equals linking once.
    ///
    /// Of two actors in two processes each is told once of the end of the other, with its reason, or
    /// of the end of the session between the two: with [`NodeClosed`](Reason::NodeClosed) if one of
    /// the nodes was closed, and otherwise with [`Unreachable`](Reason::Unreachable), when the session
    /// is given up and not while it is cut. Messages that this actor has sent to the other one before
    /// it ended arrive before its end.
    ///
    /// The node of the other actor must accept links (`NodeOptions::accept_links`), since a
    /// link lets this process end an actor of that one. Otherwise, and if that node runs a release
    /// without links, or the actor is called through a third node, there is no link, and `exited` is
    /// called at once, with [`LinkRefused`](Reason::LinkRefused). To end with an actor that may not be
    /// linked to, monitor it.
    ///
    /// A link to an actor of another process keeps a reference to it until it ends or is
    /// [removed](Self::unlink_ref). One through a reference that comes back is to the present
    /// incarnation of the actor, and ends with that.
    ///
    /// ```
    /// # use wigwag_actor::{Interface, This};
    /// # fn greet<I: Interface, J: Interface>(this: &This<I>, partner: &J::Ref) {
    /// let linked = this.link_ref::<J>(partner);
    /// # }
    /// ```
    ///
    /// # Errors
    /// When one of the two has too many watchers, or the session has as many links as it may.
    pub fn link_ref<J: Interface>(
        &self,
        actor: &impl AsRef<Ref<J>>,
    ) -> Result<(), TooManyWatchers> {
        let route = match actor.as_ref().handle_or_route() {
            Ok(handle) => return self.link(&handle),
            Err(Some(route)) => route,
            Err(None) => {
                let target = actor.as_ref().target().clone();
                let reason = Reason::Unreachable(NOT_KNOWN.into());
                let exit = Exit::elsewhere(target, &reason, None, None);
                self.mailbox.order(ControlMessage::Exit(exit));
                return Ok(());
            }
        };
        let (number, own) = (remote_link(route.run_owner()), self.number());
        let this: Arc<dyn AnyActor> = self.mailbox.clone();
        let remote = RemoteLink {
            number: own,
            actor: this.target().clone(),
            ended: exit_watcher(&this, route, number),
        };
        let refused = match route.link(remote) {
            Ok(()) => None,
            Err(NotLinked::Ended) => Some(route.end_reason()),
            Err(NotLinked::Refused(why)) => Some(Reason::LinkRefused(why)),
            Err(NotLinked::TooMany) => return Err(TooManyWatchers),
        };
        if let Some(reason) = refused {
            let target = route.target().clone();
            let exit = Exit::elsewhere(target, &reason, route.peer(), Some(number));
            self.mailbox.order(ControlMessage::Exit(exit));
            return Ok(());
        }
        let its_route = route.clone();
        let tell = Box::new(move |reason: &Reason| its_route.unlink(own, Some(reason)));
        match this.control().watch(Watcher { number, kind: WatcherKind::Remote(tell) }) {
            Ok(None) => {}
            // It was killed while it linked itself.
            Ok(Some(reason)) => route.unlink(own, Some(&reason)),
            Err(_) => {
                route.unlink(own, None);
                return Err(TooManyWatchers);
            }
        }
        // The other one may have ended meanwhile, and this end of the link be untied already.
        Ok(())
    }

    /// Removes a link of [`link_ref`](Self::link_ref), in both directions; `exited` is no longer
    /// called for it, here and there, unless the end of this actor or of the session is on its way.
    /// Only the actor that has made a link to another process removes it.
    pub fn unlink_ref<J: Interface>(&self, actor: &impl AsRef<Ref<J>>) {
        match actor.as_ref().handle_or_route() {
            Ok(handle) => self.unlink(&handle),
            Err(None) => {}
            Err(Some(route)) => {
                let number = remote_link(route.run_owner());
                drop(self.mailbox.control().unwatch(number));
                route.unlink(self.number(), None);
                let is_it = |order: &ControlMessage| matches!(order, ControlMessage::Exit(exit) if exit.link == Some(number));
                self.mailbox.control().forget(is_it);
            }
        }
    }
}

/// Tells `this` of the end of the actor of `route`.
fn exit_watcher<J: Interface>(
    this: &Arc<dyn AnyActor>,
    route: &Arc<dyn Route<J>>,
    number: u64,
) -> Arc<dyn Fn(&Reason) + Send + Sync> {
    let (this, target) = (Arc::downgrade(this), route.target().clone());
    let route = Arc::downgrade(route);
    Arc::new(move |reason| {
        if let Some(this) = this.upgrade() {
            let peer = route.upgrade().and_then(|route| route.peer());
            let exit = Exit::elsewhere(target.clone(), reason, peer, Some(number));
            this.order(ControlMessage::Exit(exit));
        }
    })
}

/// Removes this end of a link whose other end is gone.
pub(crate) fn untie(own: &dyn AnyActor, exit: &Exit) {
    let local = exit.actor.as_ref().map(|actor| link(actor.number()));
    if let Some(number) = local.or(exit.link) {
        drop(own.control().unwatch(number));
    }
}

/// The number of a link among the watchers of one end: the other actor's number, in a range of its
/// own apart from monitors.
fn link(actor: u64) -> u64 {
    actor | 1 << 63
}

/// The number of a link to an actor of another process, in a range of its own apart from both.
fn remote_link(route: RunOwner) -> u64 {
    route.number() | 3 << 62
}
