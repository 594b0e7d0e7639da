//! A relay on the loopback, between a dialer and a listener, that cuts the connections it forwards.
//!
//! The relay forwards bytes as they come and tracks its position in the stream of SP messages, so a
//! test can count the cuts that fell inside a message.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A fault that the relay applies to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// Resets the connection towards both ends, at once.
    Reset,
    /// Both ends get a reset after half of the next bytes were forwarded, or one byte more, so that it
    /// comes inside a message.
    Tear,
    /// Both ends see the end of the stream.
    End,
    /// Nothing is forwarded any more in either direction, and neither end is notified.
    Silence,
    /// Nothing is forwarded to the listener any more; the other direction continues.
    HalfSilence,
}

/// Counters of a relay.
#[derive(Default)]
pub struct Seen {
    /// Connections that were forwarded.
    pub connections: AtomicU64,
    /// Bytes forwarded, in both directions.
    pub bytes: AtomicU64,
    /// Connections that were broken inside an SP message, in one direction or both.
    pub inside: AtomicU64,
}

/// A relay to one address.
pub struct Relay {
    /// The address at which the relay listens.
    pub address: String,
    /// The counters so far.
    pub seen: Arc<Seen>,
    /// The number of a connection, and the fault that is applied to it.
    fault: watch::Sender<(u64, Fault)>,
    target: Arc<Mutex<String>>,
    accepting: JoinHandle<()>,
}

impl Relay {
    /// Starts a relay that forwards connections to `target`, a `host:port`.
    pub async fn to(target: &str) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("tcp://{}", listener.local_addr().expect("it is bound"));
        let target = Arc::new(Mutex::new(target.to_owned()));
        let leads_to = target.clone();
        let (fault, faults) = watch::channel((0, Fault::None));
        let seen = Arc::new(Seen::default());
        let counts = seen.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((dialer, _)) = listener.accept().await {
                let target = leads_to.lock().expect("whole").clone();
                let target = target.trim_start_matches("tcp://");
                let Ok(listener) = TcpStream::connect(target).await else {
                    reset(&dialer);
                    continue;
                };
                let number = 1 + counts.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(pass_on(dialer, listener, number, faults.clone(), counts.clone()));
            }
        });
        Relay { address, seen, fault, target, accepting }
    }

    /// Forwards later connections to another address.
    pub fn lead_to(&self, target: &str) {
        *self.target.lock().expect("whole") = target.to_owned();
    }

    /// Applies `fault` to the newest connection.
    pub fn strike(&self, fault: Fault) {
        let newest = self.seen.connections.load(Ordering::SeqCst);
        self.fault.send_replace((newest, fault));
    }

    /// The address that connections are forwarded to.
    pub fn target(&self) -> String {
        self.target.lock().expect("whole").clone()
    }

    /// Bytes forwarded, in both directions.
    pub fn bytes(&self) -> u64 {
        self.seen.bytes.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The position of one direction in its stream of SP messages.
#[derive(Clone, Default)]
struct Place {
    /// Bytes of the SP header seen so far; it has eight.
    header: usize,
    prefix: Vec<u8>,
    left: u64,
}

impl Place {
    fn pass(&mut self, mut bytes: &[u8]) {
        let header = bytes.len().min(8 - self.header);
        self.header += header;
        bytes = &bytes[header..];
        while !bytes.is_empty() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len() as u64);
                self.left -= taken;
                bytes = &bytes[taken as usize..];
                continue;
            }
            self.prefix.push(bytes[0]);
            bytes = &bytes[1..];
            if let Ok(length) = <[u8; 8]>::try_from(self.prefix.as_slice()) {
                self.left = u64::from_be_bytes(length);
                self.prefix.clear();
            }
        }
    }

    /// The number of the next bytes after which a tear comes inside a message. Half of several equal
    /// messages, such as acknowledgements, may be a number of whole ones.
    fn tear(&self, bytes: &[u8]) -> usize {
        let half = bytes.len() / 2;
        let mut place = self.clone();
        place.pass(&bytes[..half]);
        if place.is_inside() { half } else { half + 1 }
    }

    fn is_inside(&self) -> bool {
        self.left > 0 || !self.prefix.is_empty()
    }
}

async fn pass_on(
    mut dialer: TcpStream,
    mut listener: TcpStream,
    number: u64,
    mut faults: watch::Receiver<(u64, Fault)>,
    seen: Arc<Seen>,
) {
    let places = Mutex::new([Place::default(), Place::default()]);
    for stream in [&dialer, &listener] {
        stream.set_nodelay(true).expect("a socket");
    }
    let mut strikes = faults.clone();
    let fault = {
        let (mut from_dialer, mut to_dialer) = dialer.split();
        let (mut from_listener, mut to_listener) = listener.split();
        let tearing = || *faults.borrow() == (number, Fault::Tear);
        let there = pump(&mut from_dialer, &mut to_listener, 0, (&places, &seen), &tearing);
        let back = pump(&mut from_listener, &mut to_dialer, 1, (&places, &seen), &tearing);
        let (mut there, mut back) = (pin!(there), pin!(back));
        let mut struck = pin!(async {
            let mine = |(struck, fault): &(u64, Fault)| {
                *struck == number && !matches!(fault, Fault::None | Fault::Tear)
            };
            strikes.wait_for(mine).await.map_or(Fault::Reset, |now| now.1)
        });
        let ended = || if tearing() { Fault::Reset } else { Fault::End };
        let fault = tokio::select! {
            fault = &mut struck => fault,
            () = &mut there => ended(),
            () = &mut back => ended(),
        };
        if fault == Fault::HalfSilence {
            back.await;
        }
        fault
    };
    let inside = places.lock().expect("whole").iter().any(Place::is_inside);
    seen.inside.fetch_add(u64::from(inside), Ordering::SeqCst);
    match fault {
        Fault::Reset => [dialer, listener].iter().for_each(reset),
        // Both streams stay open and unread until the relay is dropped.
        Fault::Silence | Fault::HalfSilence => while faults.changed().await.is_ok() {},
        Fault::None | Fault::Tear | Fault::End => {
            // One of the two may be closed already; its error is ignored.
            let _ = dialer.shutdown().await;
            let _ = listener.shutdown().await;
        }
    }
}

/// Closes with a reset: with a linger of zero the kernel sends a reset instead of an end.
fn reset(stream: &TcpStream) {
    stream.set_zero_linger().expect("a socket");
}

/// Forwards bytes until there are no more.
async fn pump(
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    direction: usize,
    (places, seen): (&Mutex<[Place; 2]>, &Seen),
    tearing: &impl Fn() -> bool,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let tears = tearing();
        let read = match tears {
            true => places.lock().expect("whole")[direction].tear(&bytes[..read]),
            false => read,
        };
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
        places.lock().expect("whole")[direction].pass(&bytes[..read]);
        seen.bytes.fetch_add(read as u64, Ordering::SeqCst);
        if tears {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tear_comes_inside_a_message_also_between_two_equal_ones() {
        let message = [&5_u64.to_be_bytes()[..], b"acked"].concat();
        let mut place = Place::default();
        place.pass(&[0; 8]);
        for (chunk, torn) in [(message.repeat(2), 14), (message.repeat(3), 19), (vec![0], 1)] {
            assert_eq!(place.tear(&chunk), torn);
        }
        place.pass(&message);
        assert!(!place.is_inside());
    }
}
