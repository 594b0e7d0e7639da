//! One connection of a session: its epoch, and the handler that the connection's driver runs.

use std::task::Waker;

use tokio::sync::Notify;
use wigwag_link::LinkError;
use wigwag_link::batch::PAIR1_HEADER;
use wigwag_net::Connection;
use wigwag_net::driver::{ConnectionHandler, Flusher};
use wigwag_spin::Spin;
use wigwag_wire::{Batch, Framing, ReadBuf, Time};

use crate::session::Session;
use crate::sync::Ordering;

/// A connection that carries a session, or has carried it.
pub(crate) struct SessionConnection {
    /// The number of this connection within its session, from 0.
    pub(crate) epoch: u64,
    pub(crate) flusher: Flusher,
    /// Stops the driver: the session has moved to another connection or is over.
    pub(crate) leave: Notify,
    framing: Framing,
    /// See [`Outlet::writes_on_any_thread`](wigwag_net::Outlet::writes_on_any_thread).
    pub(crate) writes_on_any_thread: bool,
}

/// A session on one of its connections, as the driver's handler.
pub(crate) struct DrivenSession<'a> {
    pub(crate) session: &'a Session,
    pub(crate) connection: &'a SessionConnection,
}

/// Why reading from a connection has stopped.
#[derive(Debug)]
pub(crate) enum StopReason {
    /// The session has moved to another connection.
    Superseded,
    /// The connection is cut, or the session is over.
    Error(LinkError),
}

impl SessionConnection {
    pub(crate) fn new(epoch: u64, connection: &Connection) -> SessionConnection {
        let flusher = Flusher::new(connection.outlet.clone());
        let (leave, framing) = (Notify::new(), connection.framing);
        let writes_on_any_thread = connection.outlet.writes_on_any_thread();
        SessionConnection { epoch, flusher, leave, framing, writes_on_any_thread }
    }
}

impl ConnectionHandler for DrivenSession<'_> {
    type Error = StopReason;

    fn received(&self, now: Time) {
        self.session.last_received.store(now.as_nanos(), Ordering::Relaxed);
    }

    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), StopReason> {
        let Some(mut reading) = self.session.reading.enter(self.connection.epoch) else {
            return Err(StopReason::Superseded);
        };
        let outcome = reading.read(self.session, self.connection.framing, input, now);
        let close_code = outcome.as_ref().err().and_then(LinkError::close_code);
        if let Some((code, rule)) = close_code {
            self.session.sending().sender.close(code, rule);
        }
        outcome.map_err(StopReason::Error)
    }

    fn fill(&self, batch: &mut Batch, now: Time) {
        self.session.give_way_to_holders();
        self.session.publish_between_turns();
        let mut sending = self.session.sending();
        if sending.epoch != self.connection.epoch {
            return;
        }
        let Some(outgoing) = sending.take_output(now) else { return };
        let (prefix, used) = self.connection.framing.prefix(PAIR1_HEADER.len() + outgoing.len());
        batch.head(|out| {
            out.put(prefix, used);
            out.extend(&PAIR1_HEADER);
            out.extend(outgoing.head.as_slice());
        });
        outgoing.sequenced.segments.drain(..).for_each(|segment| batch.segment(segment));
        sending.statistics.bytes_sent += batch.len() as u64;
        sending.statistics.batches_sent += 1;
        let wakers = sending.wakers_behind_long_calls();
        drop(sending);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn tick(&self, now: Time) -> Result<(), StopReason> {
        if let Some(mut reading) = self.session.reading.enter(self.connection.epoch) {
            reading.dispatcher.free_unused(now);
        }
        let mut sending = self.session.sending();
        if sending.epoch != self.connection.epoch {
            return Err(StopReason::Superseded);
        }
        sending
            .sender
            .bytes_received(Time::from_nanos(self.session.last_received.load(Ordering::Relaxed)));
        sending.sender.tick(now, || self.session.asks.waiting() > 0).map_err(StopReason::Error)
    }

    fn deadline(&self) -> Option<Time> {
        self.session.sending().sender.deadline()
    }

    fn spin(&self) -> Option<Spin<'_>> {
        self.session.next_call.spin()
    }

    fn gathers_output(&self) -> bool {
        true
    }
}
