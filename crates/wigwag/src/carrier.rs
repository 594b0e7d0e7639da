//! One connection of a session: its epoch, and what is written to it.

use tokio::sync::Notify;
use wigwag_link::LinkError;
use wigwag_net::Connection;
use wigwag_net::driver::{ConnectionHandler, Flusher};
use wigwag_wire::{Batch, Framing, ReadBuf, Time};

use crate::link::{Link, PAIR1_HEADER};
use crate::sync::Ordering;

/// A connection that carries a session, or has carried it.
pub(crate) struct Carrier {
    /// Which one of the session it is; the first has 0.
    pub(crate) epoch: u64,
    pub(crate) flusher: Flusher,
    /// Ends its driver: the session leaves it, or is over.
    pub(crate) leave: Notify,
    framing: Framing,
}

/// A session on a connection.
pub(crate) struct Carried<'a> {
    pub(crate) link: &'a Link,
    pub(crate) carrier: &'a Carrier,
}

/// Why a connection is read no further.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The session has gone on to another connection.
    Left,
    /// It is cut, or the session is over.
    By(LinkError),
}

impl Carrier {
    pub(crate) fn new(epoch: u64, connection: &Connection) -> Carrier {
        let flusher = Flusher::new(connection.outlet.clone());
        Carrier { epoch, flusher, leave: Notify::new(), framing: connection.framing }
    }
}

impl ConnectionHandler for Carried<'_> {
    type Error = Broken;

    fn received(&self, now: Time) {
        self.link.heard.store(now.as_nanos(), Ordering::Relaxed);
    }

    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), Broken> {
        let Some(mut reading) = self.link.reading.enter(self.carrier.epoch) else {
            return Err(Broken::Left);
        };
        let outcome = reading.read(self.link, self.carrier.framing, input, now);
        let told = outcome.as_ref().err().and_then(LinkError::code_to_tell);
        if let Some((code, rule)) = told {
            self.link.sending().sender.close(code, rule);
        }
        outcome.map_err(Broken::By)
    }

    fn fill(&self, batch: &mut Batch, now: Time) {
        let mut sending = self.link.sending();
        if sending.epoch != self.carrier.epoch {
            return;
        }
        let Some(outgoing) = sending.take_output(now) else { return };
        let (prefix, used) = self.carrier.framing.prefix(PAIR1_HEADER.len() + outgoing.len());
        batch.head(|out| {
            out.put(prefix, used);
            out.extend(&PAIR1_HEADER);
            out.extend(outgoing.head.as_slice());
        });
        outgoing.taken.segments.drain(..).for_each(|segment| batch.segment(segment));
        sending.statistics.bytes_sent += batch.len() as u64;
        sending.statistics.batches_sent += 1;
    }

    fn tick(&self, now: Time) -> Result<(), Broken> {
        let mut sending = self.link.sending();
        if sending.epoch != self.carrier.epoch {
            return Err(Broken::Left);
        }
        sending.sender.heard(Time::from_nanos(self.link.heard.load(Ordering::Relaxed)));
        sending.sender.tick(now, || self.link.asks.waiting() > 0).map_err(Broken::By)
    }

    fn deadline(&self) -> Option<Time> {
        self.link.sending().sender.deadline()
    }
}
