//! The writing half: our header, and then the socket or the ring.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::opening::Way;
use super::{Upgrade, lock};
use crate::transport::Outlet;
use crate::transports::halves::Half;
use crate::transports::shm::outlet::ShmOutlet;
use crate::transports::stream::UnixOutlet;

pub(super) struct UpgradeOutlet {
    upgrade: Arc<Upgrade>,
    memory: ShmOutlet,
}

impl UpgradeOutlet {
    pub(super) fn new(upgrade: Arc<Upgrade>, memory: ShmOutlet) -> UpgradeOutlet {
        UpgradeOutlet { upgrade, memory }
    }

    fn socket(&self) -> &UnixOutlet {
        &self.upgrade.link.bell.outlet
    }

    /// The outlet of the way; that of the socket until it is known.
    fn outlet(&self) -> &dyn Outlet {
        match self.upgrade.way.get() {
            Some(Way::Memory) => &self.memory,
            _ => self.socket(),
        }
    }

    /// Writes what belongs to our header.
    fn greet(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut opening = lock(&self.upgrade.opening);
        if !opening.may_greet() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let Some(part) = parts.iter().find(|part| !part.is_empty()) else { return Ok(0) };
        let sent = opening.send(&self.upgrade.link, part)?;
        self.upgrade.begin_writing(&opening);
        Ok(sent)
    }
}

impl Outlet for UpgradeOutlet {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.upgrade.way.get() {
            None => self.greet(parts),
            Some(Way::Socket) => self.socket().try_write(parts),
            Some(Way::Memory) => self.memory.try_write(parts),
        }
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.upgrade.way.get().is_none() && !lock(&self.upgrade.opening).may_greet() {
            ready!(self.upgrade.poll_way(Half::Writer, context))?;
        }
        self.outlet().poll_writable(context)
    }

    fn try_write_unpolled(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.upgrade.way.get() {
            // Nothing is written behind a header that has not been.
            None => Ok(0),
            Some(_) => self.outlet().try_write_unpolled(bytes),
        }
    }

    fn finish(&self) -> bool {
        self.outlet().finish()
    }

    fn close(&self) {
        self.outlet().close();
    }

    fn abort(&self) {
        self.outlet().abort();
    }
}
