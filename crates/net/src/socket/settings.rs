//! What can be set on a socket beside what its protocol is about.
//!
//! `docs/options.md` has the table of all options, with units, defaults, and the names that
//! nanomsg, NNG and mangos use.

use std::time::Duration;

use wigwag_sp::limits::Hops;
use wigwag_sp::{QueueLength, Setting};

use super::kinds::{Bus, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, Star, Sub, Surveyor};
use super::many::PairMany;

/// What every socket has; expanded inside the `impl` of each.
macro_rules! common {
    () => {
        pub(super) fn core(&self) -> &std::sync::Arc<$crate::socket::core::Core> {
            &self.0.0
        }

        /// How long [`close`](Self::close) goes on writing what was accepted: `None` until all is
        /// written, zero not at all, [`LINGER_MAX`](super::LINGER_MAX) unless set. What
        /// is left then, or has no peer to go to, is dropped and counted as
        /// `dropped_unsent` or `dropped_pipe_gone`; a message whose writing had begun, as
        /// `messages_cut_off`.
        pub fn set_linger(&self, time: Option<std::time::Duration>) {
            self.core().with(|state| state.linger = time);
        }

        /// The pauses between two dials to an address, for dials from now on that do not say
        /// otherwise.
        pub fn set_redial(&self, redial: $crate::options::Redial) {
            self.core().with(|state| state.redial = redial);
        }

        /// Has `watcher` hear of all pipes that come from now on; it takes the place of the one
        /// before, which still hears the end of those that it has heard of.
        pub fn watch_pipes(&self, watcher: impl $crate::socket::PipeWatcher + 'static) {
            self.core().with(|state| state.watcher = Some(std::sync::Arc::new(watcher)));
        }

        /// The pipes that are open, in no order, and what each has done.
        pub fn pipes(&self) -> Vec<$crate::socket::OpenPipeReport> {
            self.core().with(|state| state.pipes.values().map(|entry| entry.report()).collect())
        }

        /// Closes one pipe; false when there is none of that number. A dialled peer is dialled
        /// again after the usual pause.
        pub fn close_pipe(&self, pipe: wigwag_sp::PipeId) -> bool {
            let end = $crate::socket::PipeEnd::ClosedHere;
            self.core().end_pipes(end, |entry| entry.info().id == pipe) > 0
        }
    };
}
pub(super) use common;

/// A setting that each of these sockets has, so that it cannot fail.
macro_rules! setting {
    ($doc:literal $method:ident($type:ty) = $setting:ident; $($name:ident)*) => {$(
        impl $name {
            #[doc = $doc]
            pub fn $method(&self, value: $type) {
                let outcome =
                    self.core().with(|state| state.protocol.set(Setting::$setting(value)));
                debug_assert!(outcome.is_ok(), "the sockets in this list have the setting");
            }
        }
    )*};
}

pub(super) use setting;

setting! {
    "Messages that may wait to be written, for each peer; 4,096 unless set, and 256 KiB beside \
    it: whichever is reached first. Holds for open pipes too; what is over it stays."
    set_send_queue(QueueLength) = SendQueue;
    Bus Pair Pair0 PairMany Pub Push Rep Req Respondent Star Surveyor
}

setting! {
    "Messages that may wait for `recv`, from each peer; 1,024 unless set, and 256 KiB beside it: \
    whichever is reached first. A peer whose queue is full is not read from, so that it waits or \
    drops at its end. Holds for open pipes too; what is over it stays."
    set_receive_queue(QueueLength) = ReceiveQueue;
    Bus Pair Pair0 PairMany Pull Rep Respondent Star Sub Surveyor
}

setting! {
    "Hops that a message may have come over; what came over more is dropped and counted as \
    `dropped_too_many_hops`. Eight unless set, as in all SP implementations. Holds for messages \
    to come."
    set_hops_max(Hops) = HopsMax;
    Pair PairMany Rep Respondent Star
}

setting! {
    "When a request without a reply is sent again, from the next request on; 60 s unless set. \
    With `None` it is not, and a request whose connection breaks is \
    [`RequestLost`](super::SocketErrorKind::RequestLost)."
    set_resend_time(Option<Duration>) = ResendTime;
    Req
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists above hold: in a debug build a setting that a protocol does not have would panic.
    #[test]
    fn each_socket_in_a_list_has_the_setting() {
        let (one, hops) = (QueueLength::new(1).unwrap(), Hops::MAX);
        macro_rules! each {
            ($method:ident($value:expr): $($name:ident)*) => { $($name::new().$method($value);)* };
        }
        each!(set_send_queue(one): Bus Pair Pair0 PairMany Pub Push Rep Req Respondent Star Surveyor);
        each!(set_receive_queue(one): Bus Pair Pair0 PairMany Pull Rep Respondent Star Sub Surveyor);
        each!(set_hops_max(hops): Pair PairMany Rep Respondent Star);
        each!(set_resend_time(None): Req);
    }
}
