//! A poller for sockets with data to read: epoll, as the lab's own programs use it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use crate::contract::Failure;

/// The most events that are taken at once.
const EVENTS: usize = 128;

/// A set of sockets, with an index each.
pub(crate) struct Poller {
    epoll: OwnedFd,
    events: [Event; EVENTS],
}

impl Poller {
    pub(crate) fn new() -> Result<Poller, Failure> {
        let empty = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Poller { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: [empty; EVENTS] })
    }

    pub(crate) fn add(&self, socket: impl AsFd, index: u64) -> Result<(), Failure> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(index), EventFlags::IN)?)
    }

    pub(crate) fn remove(&self, socket: impl AsFd) -> Result<(), Failure> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// The sockets with data to read; none when `most` has passed.
    pub(crate) fn wait(
        &mut self,
        most: Option<Duration>,
    ) -> Result<impl Iterator<Item = u64> + use<>, Failure> {
        let most = most.map(|most| Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        let count = loop {
            match epoll::wait(&self.epoll, &mut self.events, most.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?,
            }
        };
        let events = self.events;
        Ok((0..count).map(move |index| events[index].data.u64()))
    }
}
