//! The reading end of a session, with its own half for sending.

use std::collections::VecDeque;

use wigwag_link::batch::PAIR1_HEADER;
use wigwag_link::send_half::Outgoing;
use wigwag_link::{Code, Dispatcher, Frame, Limits, LinkError, SendHalf, features};
use wigwag_wire::{Reader, Time};

use crate::application::{EndApplication, Read, Stop};

/// An end that finds no actor, or one that finds every actor.
pub(crate) struct Receiver {
    pub(crate) sender: SendHalf,
    dispatcher: Dispatcher<()>,
    queue: VecDeque<u64>,
    refuses: bool,
}

impl Receiver {
    pub(crate) fn new(refuses: bool) -> Receiver {
        let limits = Limits::default();
        let sender = SendHalf::new(&limits, limits, Time::START);
        let dispatcher = Dispatcher::new(&limits, features::OFFERED, 256);
        Receiver { sender, dispatcher, queue: VecDeque::new(), refuses }
    }

    /// Reads one batch with the output of `peer`.
    pub(crate) fn receive(&mut self, peer: &mut SendHalf) -> Result<Read, LinkError> {
        let mut out = Outgoing::default();
        peer.take_output(&mut out, Time::START);
        let mut message = [&PAIR1_HEADER, out.head.as_slice()].concat();
        out.sequenced.segments.iter().for_each(|segment| message.extend(&*segment.flat()));
        let (dispatcher, mut app) = self.application();
        match dispatcher.receive(&message, Time::START, &mut app) {
            Ok(_) => Ok(app.read),
            Err(Stop::Refused(error)) => Err(error),
            Err(Stop::Enough) => panic!("no end to the steps"),
        }
    }

    /// Publishes the calls of the batches that were read.
    pub(crate) fn publish(&mut self) -> Read {
        let (dispatcher, mut app) = self.application();
        dispatcher.publish(&mut app);
        app.read
    }

    /// The codes of the ERRORs that are due, each with the slot of its ask.
    pub(crate) fn errors(&mut self) -> Vec<(u64, Code)> {
        let mut out = Outgoing::default();
        self.sender.take_output(&mut out, Time::START);
        let segments = out.sequenced.segments.iter();
        let bytes: Vec<u8> = segments.flat_map(|segment| segment.flat().into_owned()).collect();
        let (mut reader, mut errors) = (Reader::new(&bytes), Vec::new());
        while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
            if let Ok(Frame::Error { slot, code, .. }) = Frame::parse(kind, body) {
                errors.push((slot, code));
            }
        }
        errors
    }

    fn application(&mut self) -> (&mut Dispatcher<()>, EndApplication<'_>) {
        let Receiver { sender, dispatcher, queue, refuses } = self;
        let (steps, read, refuses) = (usize::MAX, Read::default(), *refuses);
        (dispatcher, EndApplication { sender, queue, steps, refuses, read })
    }
}
