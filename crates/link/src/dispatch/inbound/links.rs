//! LINK and UNLINK: actors of the peer that are linked to the actor of a channel.

use super::{Inbound, InboundChannels, Open, index};
use crate::code::Code;
use crate::dispatch::application::Application;
use crate::error::LinkError;
use crate::limits::LINKS_MAX;

impl<C> InboundChannels<C> {
    /// LINK: an actor of the peer is linked to that of the channel. A LINK that crosses our DETACHED
    /// is noted and never told of anything, and one to an actor that may not be linked to is ignored.
    #[cold]
    pub(crate) fn link<A>(
        &mut self,
        channel: u64,
        link: u64,
        actor: &[u8],
        app: &mut A,
    ) -> Result<(), LinkError>
    where
        A: Application<Channel = C>,
    {
        let Some(open) = linkable(&mut self.channels, channel)? else { return Ok(()) };
        if self.links >= LINKS_MAX {
            let rule = "a session has at most 4096 links";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        if !open.links.insert(link) {
            return Err(LinkError::protocol("a link that the channel has already"));
        }
        self.links += 1;
        app.linked(&mut open.channel, link, actor);
        Ok(())
    }

    /// UNLINK: a link of the peer ends.
    #[cold]
    pub(crate) fn unlink<A>(
        &mut self,
        channel: u64,
        link: u64,
        reason: &[u8],
        app: &mut A,
    ) -> Result<(), LinkError>
    where
        A: Application<Channel = C>,
    {
        // Calls that came before are handled before the end.
        self.publish(app);
        let Some(open) = linkable(&mut self.channels, channel)? else { return Ok(()) };
        if !open.links.remove(&link) {
            return Err(LinkError::protocol("the end of a link that there is not"));
        }
        self.links -= 1;
        app.unlinked(&mut open.channel, link, reason);
        Ok(())
    }

    /// Forgets the links of a channel that ends.
    pub(super) fn forget_links(&mut self, at: usize) {
        if let Some(Some(Inbound::Open(open))) = self.channels.get(at) {
            self.links -= open.links.len();
        }
    }
}

/// The channel that LINK or UNLINK is about. `None` if it is ignored: the channel is refused, or its actor
/// may not be linked to, which the peer has not read yet.
fn linkable<C>(
    channels: &mut [Option<Inbound<C>>],
    channel: u64,
) -> Result<Option<&mut Open<C>>, LinkError> {
    match channels.get_mut(index(channel)) {
        Some(Some(Inbound::Open(open))) => Ok(Some(open).filter(|open| open.may_link)),
        Some(Some(Inbound::Refused { .. })) => Ok(None),
        _ => Err(no_channel_to_link()),
    }
}

#[cold]
fn no_channel_to_link() -> LinkError {
    LinkError::protocol("a link over a channel that was never attached")
}
