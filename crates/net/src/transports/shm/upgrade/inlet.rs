//! The reading half: the peer's header, and then the socket or the ring.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncRead;
use tokio::net::unix::OwnedReadHalf;
use wigwag_wire::ReadBuf;

use super::opening::Way;
use super::{Upgrade, lock};
use crate::transport::{ByteInlet, Inlet};
use crate::transports::halves::Half;
use crate::transports::shm::inlet::ShmInlet;

pub(super) struct UpgradeInlet {
    upgrade: Arc<Upgrade>,
    socket: ByteInlet<OwnedReadHalf>,
    memory: ShmInlet,
    /// Bytes of the peer's header that the reader has taken, and where those behind it come from.
    taken: usize,
    way: Option<Way>,
}

impl UpgradeInlet {
    pub(super) fn new(
        upgrade: Arc<Upgrade>,
        socket: OwnedReadHalf,
        memory: ShmInlet,
    ) -> UpgradeInlet {
        UpgradeInlet { upgrade, socket: ByteInlet(socket), memory, taken: 0, way: None }
    }

    /// Where to read from; `None` if `take` got bytes of the peer's header.
    fn poll_source(
        &mut self,
        context: &Context<'_>,
        take: impl FnOnce(&[u8]) -> usize,
    ) -> Poll<io::Result<Result<Way, usize>>> {
        if let Some(way) = self.way {
            return Poll::Ready(Ok(Ok(way)));
        }
        let way = ready!(self.upgrade.poll_way(Half::Reader, context))?;
        let opening = lock(&self.upgrade.opening);
        let rest = &opening.theirs()[self.taken..];
        if rest.is_empty() {
            self.way = Some(way);
            return Poll::Ready(Ok(Ok(way)));
        }
        let taken = take(rest);
        self.taken += taken;
        Poll::Ready(Ok(Err(taken)))
    }
}

impl Inlet for UpgradeInlet {
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        input: &mut ReadBuf,
    ) -> Poll<io::Result<usize>> {
        let take = |header: &[u8]| {
            input.append(header);
            header.len()
        };
        match ready!(self.poll_source(context, take))? {
            Err(taken) => Poll::Ready(Ok(taken)),
            Ok(Way::Socket) => self.socket.poll_fill(context, input),
            Ok(Way::Memory) => self.memory.poll_fill(context, input),
        }
    }
}

impl AsyncRead for UpgradeInlet {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let take = |header: &[u8]| {
            let taken = header.len().min(into.remaining());
            into.put_slice(&header[..taken]);
            taken
        };
        match ready!(self.poll_source(context, take))? {
            Err(_) => Poll::Ready(Ok(())),
            Ok(Way::Socket) => pin!(&mut self.socket).poll_read(context, into),
            Ok(Way::Memory) => pin!(&mut self.memory).poll_read(context, into),
        }
    }
}
