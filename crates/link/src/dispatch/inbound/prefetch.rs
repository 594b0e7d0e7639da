//! Prefetching: the memory of the channels whose calls come next, read for several of them at a time.
//!
//! A session may have a hundred thousand channels, each with memory of its own, of its actor and of its
//! mailbox, and most of it is in no cache. A call that finds it there waits for about ten lines of
//! memory, one after the other, and a lock between them keeps the processor from going ahead. Plain
//! loads, which wait for nothing, overlap. Measured gain, together with publishing a few channels at a
//! time: `lab run remote`, cell *tell, 100000 actors at random*, 0.80 M/s; without them 0.53 M/s. With
//! 1,000 actors, whose memory is in the cache, each of them costs 2 to 10 percent.

use super::{Inbound, InboundChannels, Open, index};
use crate::dispatch::application::Application;
use crate::recv_half::Incoming;

/// Calls, and channels, whose memory is read at a time.
pub(super) const PREFETCHED_CHANNELS: usize = 32;

/// Channels from which on the calls of one read go to different ones, and are published soon: those that
/// wait until the end of their batch are in no cache then. Fewer channels get several calls each.
const SCATTERED_CHANNELS_MIN: usize = 8_192;

impl<C> InboundChannels<C> {
    /// True if one read brings at most a call for most of its channels.
    #[inline]
    pub(super) fn are_scattered(&self) -> bool {
        self.channels.len() >= SCATTERED_CHANNELS_MIN
    }

    /// Prefetches what the next calls need, each time that so many have been handed over.
    #[inline(always)]
    pub(crate) fn prefetch_calls<A>(&mut self, incoming: &Incoming<'_>, app: &A)
    where
        A: Application<Channel = C>,
    {
        if self.are_scattered() {
            self.prefetch_next_calls(incoming, app);
        }
    }

    #[inline(never)]
    fn prefetch_next_calls<A>(&mut self, incoming: &Incoming<'_>, app: &A)
    where
        A: Application<Channel = C>,
    {
        if self.prefetched_calls > 0 {
            self.prefetched_calls -= 1;
            return;
        }
        let (mut next, mut count) = ([0; PREFETCHED_CHANNELS], 0);
        for (place, channel) in next.iter_mut().zip(incoming.next_channels()) {
            *place = index(channel);
            count += 1;
        }
        self.prefetched_calls = count;
        let next = &next[..count];
        let used = self.open_among(next).map(|open| open.used);
        core::hint::black_box(used.sum::<u64>());
        let read = self.open_among(next).map(|open| app.prefetch_calls(&open.channel));
        core::hint::black_box(read.sum::<usize>());
    }

    /// Prefetches what publishing the channels that have got calls needs.
    pub(super) fn prefetch_publish<A>(&self, app: &A)
    where
        A: Application<Channel = C>,
    {
        let channels = self.open_among(&self.unpublished);
        let read = channels.map(|open| app.prefetch_publish(&open.channel));
        core::hint::black_box(read.sum::<usize>());
    }

    fn open_among(&self, places: &[usize]) -> impl Iterator<Item = &Open<C>> {
        places.iter().filter_map(|at| match self.channels.get(*at) {
            Some(Some(Inbound::Open(open))) => Some(open),
            _ => None,
        })
    }
}
