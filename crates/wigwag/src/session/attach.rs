//! Opening channels, no more at once than the peer bears.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use wigwag_actor::{CallError, CallErrorKind};
use wigwag_link::frame::Frame;
use wigwag_link::{Limits, write};

use crate::session::{OutboundChannel, SendState, Session};

/// What ATTACHED says.
pub(crate) struct Attached {
    pub(crate) schema_hash: u64,
    pub(crate) codec: u8,
}

/// An ATTACH without an answer, and who waits for that.
pub(super) struct Attaching {
    answer: oneshot::Sender<Result<Attached, CallErrorKind>>,
    /// Its place among those; free when the answer has come, whether or not anybody waits for it.
    _place: Option<OwnedSemaphorePermit>,
}

impl Attaching {
    pub(super) fn send(self, answer: Result<Attached, CallErrorKind>) {
        // The asker may have gone away; then its reference was never made.
        let _ = self.answer.send(answer);
    }
}

/// Places for the ATTACHes that a peer with these limits bears unanswered.
pub(super) fn attaches(peer: &Limits) -> Arc<Semaphore> {
    let most = usize::try_from(peer.attach_pending_max).unwrap_or(usize::MAX);
    Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
}

impl Session {
    /// Sends ATTACH for the actor exported as `name`, and gives the channel's number and the place
    /// where the answer arrives. Waits while the peer bears no more unanswered ones.
    ///
    /// The channel is the caller's from here on: it is to be [detached](Session::detach).
    ///
    /// # Cancellation
    /// Dropped while it waits, nothing was sent.
    pub(crate) async fn send_attach(
        &self,
        name: &str,
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Result<(u64, oneshot::Receiver<Result<Attached, CallErrorKind>>), CallError> {
        let (answer, attached) = oneshot::channel();
        // Nobody closes it: a session that has ended says so below.
        let place = self.attaches.clone().acquire_owned().await.ok();
        let mut sending = self.sending();
        sending.check(target)?;
        let Some(channel) = sending.sender.open_channel() else {
            return Err(CallError::new(CallErrorKind::Overloaded, target)
                .with_detail("the peer accepts no more channels"));
        };
        let at = channel as usize;
        if sending.channels.len() == at {
            sending.channels.push(OutboundChannel::new(target));
        }
        sending.channels[at] = OutboundChannel {
            attaching: Some(Attaching { answer, _place: place }),
            ..OutboundChannel::new(target)
        };
        let (target, codec) = (name.as_bytes(), self.codec);
        let attach = Frame::Attach { channel, how: 0, target, schema_hash, codec };
        sending.sender.outbox.append(|out| write::any(out, &attach));
        Ok((channel, attached))
    }
}

impl SendState {
    /// ATTACHED has come.
    pub(crate) fn attached(&mut self, number: u64, attached: Attached) {
        let channel = self.channels.get_mut(usize::try_from(number).unwrap_or(usize::MAX));
        if let Some(answer) = channel.and_then(|channel| channel.attaching.take()) {
            answer.send(Ok(attached));
        }
    }
}
