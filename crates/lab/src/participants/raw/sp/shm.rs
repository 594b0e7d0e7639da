//! The limit over shared memory: the bare rings, with a socket to wake a thread that sleeps.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use wigwag_shm::{Broken, Consumer, Producer, RING_BYTES, Segment, Side, pass};

use crate::contract::sp::SHM_SPIN;
use crate::contract::{Failure, Orders};

/// A connection of two rings.
pub(super) struct Rings {
    producer: Producer,
    consumer: Consumer,
    bell: UnixStream,
    /// Looks at an empty ring for a while before it sleeps.
    spins: bool,
}

impl Rings {
    fn new(segment: Segment, side: Side, bell: UnixStream, orders: &Orders) -> Rings {
        let (producer, consumer) = segment.into_rings(side);
        Rings { producer, consumer, bell, spins: orders.transport == "shm-spin" }
    }

    /// Creates the memory, and passes it to the server.
    pub(super) fn offer(bell: UnixStream, orders: &Orders) -> Result<Rings, Failure> {
        let segment = Segment::create(RING_BYTES)?;
        pass::send(&bell, &[0], segment.descriptor())?;
        Ok(Rings::new(segment, Side::Creator, bell, orders))
    }

    /// Waits for the client's memory.
    pub(super) fn take(bell: UnixStream, orders: &Orders) -> Result<Rings, Failure> {
        let (_, descriptor) = loop {
            match pass::receive(&bell, &mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                received => break received?,
            }
        };
        let descriptor = descriptor.ok_or("the client sent no memory")?;
        let segment = Segment::open(descriptor, RING_BYTES as u64)?;
        Ok(Rings::new(segment, Side::Opener, bell, orders))
    }

    fn ring(&mut self, sleeps: bool) -> io::Result<()> {
        if sleeps { self.bell.write_all(&[1]) } else { Ok(()) }
    }

    /// Sleeps until the peer rings. False if it has left.
    fn sleep(&mut self) -> io::Result<bool> {
        Ok(self.bell.read(&mut [0; 64])? > 0)
    }
}

impl Read for Rings {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut since = None;
        loop {
            let progress = self.consumer.read_to(bytes).map_err(broken)?;
            if progress.bytes > 0 {
                self.ring(progress.wake)?;
                return Ok(progress.bytes);
            }
            if self.spins && since.get_or_insert_with(Instant::now).elapsed() < SHM_SPIN {
                std::hint::spin_loop();
            } else if self.consumer.wait().map_err(broken)? && !self.sleep()? {
                return Ok(0);
            }
        }
    }
}

impl Write for Rings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let progress = self.producer.write(&[IoSlice::new(bytes)]).map_err(broken)?;
            self.ring(progress.wake)?;
            if progress.bytes > 0 || bytes.is_empty() {
                return Ok(progress.bytes);
            }
            if self.producer.wait().map_err(broken)? && !self.sleep()? {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Rings {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

fn broken(error: Broken) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
