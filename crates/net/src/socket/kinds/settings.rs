//! Settings of a socket that do not depend on its protocol.
//!
//! `docs/options.md` has the table of all options, with units, defaults, and the names that
//! nanomsg, NNG and mangos use.

use std::time::Duration;

use wigwag_sp::limits::Hops;
use wigwag_sp::{QueueLength, Setting};

use crate::socket::kinds::many::PairMany;
use crate::socket::kinds::{
    Bus, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, Star, Sub, Surveyor,
};

/// The settings of every socket; expanded inside the `impl` of each.
macro_rules! common {
    () => {
        pub(crate) fn core(&self) -> &std::sync::Arc<$crate::socket::core::Core> {
            &self.0.0
        }

        /// Sets how long [`close`](Self::close) writes accepted messages: `None` until all are
        /// written, zero not at all, [`LINGER_MAX`](crate::socket::LINGER_MAX) unless set. Messages that
        /// are left then, or have no peer to go to, are dropped and counted as `dropped_unsent` or
        /// `dropped_pipe_gone`; a message whose writing had begun, as `messages_cut_off`.
        ///
        /// Within the same time the connection stays open until the peer has read what was written.
        /// Over TLS a peer that is slower than that can lose what it has not read, uncounted.
        pub fn set_linger(&self, time: Option<std::time::Duration>) {
            self.core().with(|state| state.linger = time);
        }

        /// Sets the pauses between two dials to an address, for later dials without an option of
        /// their own.
        pub fn set_redial(&self, redial: $crate::options::Redial) {
            self.core().with(|state| state.redial = redial);
        }

        /// Installs `watcher`, which is told of every new pipe; it replaces the previous one, which
        /// is still told of the end of the pipes it knows.
        pub fn watch_pipes(&self, watcher: impl $crate::socket::PipeWatcher + 'static) {
            self.core().with(|state| state.watcher = Some(std::sync::Arc::new(watcher)));
        }

        /// The open pipes, in no particular order, and their statistics.
        pub fn pipes(&self) -> Vec<$crate::socket::OpenPipeReport> {
            self.core().with(|state| state.pipes.values().map(|entry| entry.report()).collect())
        }

        /// Closes one pipe; false if no pipe has that number. A dialled peer is dialled again after
        /// the usual pause.
        pub fn close_pipe(&self, pipe: wigwag_sp::PipeId) -> bool {
            let end = $crate::socket::PipeEnd::ClosedHere;
            self.core().end_pipes(end, |entry| entry.info().id == pipe) > 0
        }
    };
}
pub(crate) use common;

/// Defines a setting that each of these sockets has, so that it cannot fail.
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

pub(crate) use setting;

setting! {
    "Sets how many messages may wait to be written, for each peer: 4,096 unless set, and at most \
    256 KiB, whichever is reached first. Applies to open pipes too; messages over the limit \
    stay."
    set_send_queue(QueueLength) = SendQueue;
    Bus Pair Pair0 PairMany Pub Push Rep Req Respondent Star Surveyor
}

setting! {
    "Sets how many messages may wait for `recv`, from each peer: 1,024 unless set, and at most \
    256 KiB, whichever is reached first. A peer whose queue is full is not read from, so it \
    waits or drops messages at its end. Applies to open pipes too; messages over the limit stay."
    set_receive_queue(QueueLength) = ReceiveQueue;
    Bus Pair Pair0 PairMany Pull Rep Respondent Star Sub Surveyor
}

setting! {
    "Sets the limit of the hops that a message may have come over; a message over the limit is \
    dropped and counted as `dropped_too_many_hops`. Eight unless set, as in all SP \
    implementations. Applies to later messages."
    set_hops_max(Hops) = HopsMax;
    Pair PairMany Rep Respondent Star
}

setting! {
    "Sets when a request without a reply is sent again, from the next request on: 60 s unless \
    set. With `None` it is not, and a request whose connection breaks ends with \
    [`RequestLost`](crate::socket::SocketErrorKind::RequestLost)."
    set_resend_time(Option<Duration>) = ResendTime;
    Req
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists above are correct: in a debug build a setting that a protocol does not have would
    /// panic.
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
