//! The limit over shared memory: the bare rings, with a socket to wake a thread that sleeps.
//!
//! Both ends of a connection sleep at the same socket. So two threads may share a connection only if
//! one of them never waits: a reader, and a writer that always finds room.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

use wigwag_shm::{Broken, Consumer, Producer, RING_BYTES, Segment, Side, pass};

use super::{Outlet, Stream};
use crate::contract::sp::SHM_SPIN;
use crate::contract::{Failure, Orders};

/// The socket that wakes.
#[derive(Clone)]
struct Bell(Arc<UnixStream>);

struct RingReader {
    consumer: Consumer,
    bell: Bell,
    /// Looks at an empty ring for a while before it sleeps.
    spins: bool,
}

struct RingWriter {
    producer: Producer,
    bell: Bell,
}

/// Creates the memory, and passes it to the server.
pub(super) fn offer(bell: UnixStream, orders: &Orders) -> Result<Stream, Failure> {
    let segment = Segment::create(RING_BYTES)?;
    pass::send(&bell, &[0], segment.descriptor())?;
    Ok(stream(segment, Side::Creator, bell, orders))
}

/// Waits for the client's memory.
pub(super) fn take(bell: UnixStream, orders: &Orders) -> Result<Stream, Failure> {
    let (_, descriptor) = loop {
        match pass::receive(&bell, &mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            received => break received?,
        }
    };
    let descriptor = descriptor.ok_or("the client sent no memory")?;
    let segment = Segment::open(descriptor, RING_BYTES as u64)?;
    Ok(stream(segment, Side::Opener, bell, orders))
}

fn stream(segment: Segment, side: Side, bell: UnixStream, orders: &Orders) -> Stream {
    let (producer, consumer) = segment.into_rings(side);
    let socket = Arc::new(bell);
    let bell = Bell(socket.clone());
    let spins = orders.transport == "shm-spin";
    Stream {
        reader: Box::new(RingReader { consumer, bell: bell.clone(), spins }),
        writer: Box::new(RingWriter { producer, bell }),
        socket,
    }
}

impl Bell {
    fn ring(&self, sleeps: bool) -> io::Result<()> {
        if sleeps { (&*self.0).write_all(&[1]) } else { Ok(()) }
    }

    /// Sleeps until the peer rings. False if it has left.
    fn sleep(&self) -> io::Result<bool> {
        Ok((&*self.0).read(&mut [0; 64])? > 0)
    }
}

impl Read for RingReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut since = None;
        loop {
            let progress = self.consumer.read_to(bytes).map_err(broken)?;
            if progress.bytes > 0 {
                self.bell.ring(progress.wake)?;
                return Ok(progress.bytes);
            }
            if self.spins && since.get_or_insert_with(Instant::now).elapsed() < SHM_SPIN {
                std::hint::spin_loop();
            } else if self.consumer.wait().map_err(broken)? && !self.bell.sleep()? {
                return Ok(0);
            }
        }
    }
}

impl Write for RingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let progress = self.producer.write(&[IoSlice::new(bytes)]).map_err(broken)?;
            self.bell.ring(progress.wake)?;
            if progress.bytes > 0 || bytes.is_empty() {
                return Ok(progress.bytes);
            }
            if self.producer.wait().map_err(broken)? && !self.bell.sleep()? {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outlet for RingWriter {
    fn finish(&mut self) -> io::Result<()> {
        self.bell.0.shutdown(Shutdown::Write)
    }
}

fn broken(error: Broken) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
