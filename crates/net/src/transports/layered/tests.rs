//! A layer that inverts each byte, over a pair of sockets.

use std::future::poll_fn;
use std::task::{Wake, Waker};

use tokio::net::UnixStream;
use wigwag_wire::Framing;
use wigwag_wire::read_buf::{FIRST_READ_BYTES, READ_BYTES};

use super::*;
use crate::sync::{AtomicBool, Ordering};
use crate::transports::stream;

/// Takes records of so many bytes, and none before it is whole.
struct Invert(usize);

impl Layer for Invert {
    fn send(&mut self, parts: &[IoSlice<'_>], out: &mut Vec<u8>) -> io::Result<usize> {
        let before = out.len();
        for part in parts {
            let room = SEND_BYTES_MAX - (out.len() - before);
            out.extend(part.iter().take(room).map(|byte| !byte));
        }
        Ok(out.len() - before)
    }

    fn is_open(&self) -> bool {
        true
    }

    fn receive(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        _out: &mut Vec<u8>,
    ) -> io::Result<Received> {
        let taken = received.len() - received.len() % self.0;
        let records = &mut received[..taken];
        records.iter_mut().for_each(|byte| *byte = !*byte);
        input.append(records);
        Ok(Received { taken, ..Received::default() })
    }

    fn ended(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> bool {
        true
    }

    fn close(&mut self, _out: &mut Vec<u8>) {}
}

/// The halves of one end, and the other end as it is below.
fn end() -> (LayeredInlet<Invert>, LayeredOutlet<Invert>, Connection) {
    end_with(1)
}

/// [`end`] of a layer with records of `record` bytes.
fn end_with(record: usize) -> (LayeredInlet<Invert>, LayeredOutlet<Invert>, Connection) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let below = stream::unix(ours, Framing::Tcp, "peer");
    let (inlet, outlet) = halves(below.reader, below.outlet, Invert(record)).unwrap();
    (inlet, outlet, stream::unix(theirs, Framing::Tcp, "peer"))
}

#[tokio::test]
async fn bytes_are_changed_in_both_directions_and_an_idle_connection_holds_no_memory() {
    let (mut inlet, outlet, mut theirs) = end();
    let mut input = ReadBuf::new();
    // Each read fills the room there is, so the connection gets blocks.
    let sent = 2 * READ_BYTES;
    let below = theirs.outlet.clone();
    let writing = tokio::spawn(async move {
        let bytes = vec![1; sent];
        let mut written = 0;
        while written < sent {
            below.writable().await.unwrap();
            written += below.try_write(&[IoSlice::new(&bytes[written..])]).unwrap_or(0);
        }
    });
    while input.len() < sent {
        poll_fn(|context| inlet.poll_fill(context, &mut input)).await.unwrap();
    }
    writing.await.unwrap();
    assert!(input.as_slice().iter().all(|byte| *byte == !1));
    assert!(inlet.received.space().capacity() > FIRST_READ_BYTES);

    outlet.writable().await.unwrap();
    assert_eq!(outlet.try_write(&[IoSlice::new(&[7; 100])]).unwrap(), 100);
    let mut answer = ReadBuf::new();
    theirs.reader.fill(&mut answer).await.unwrap();
    assert_eq!(answer.as_slice(), [!7; 100]);
    assert!(inlet.shared.sides().out.capacity() > 0);

    inlet.release();
    assert!(inlet.received.space().capacity() <= FIRST_READ_BYTES);
    assert_eq!(inlet.shared.sides().out.capacity(), 0);
}

/// The outlet below wakes only the last one that asks for room. A reader that has its message asks
/// no more.
#[tokio::test]
async fn a_reader_that_asked_for_room_and_stopped_does_not_take_the_place_of_the_writer() {
    for asks_again in [true, false] {
        let (mut inlet, outlet, mut theirs) = end();
        let chunk = vec![1; SEND_BYTES_MAX];
        outlet.writable().await.unwrap();
        while outlet.try_write(&[IoSlice::new(&chunk)]).is_ok() {}
        let writing = tokio::spawn(async move {
            outlet.writable().await.unwrap();
            outlet
        });
        // The writer waits first, then the reader asks for room too.
        tokio::task::yield_now().await;
        let reading = tokio::spawn(async move {
            let mut input = ReadBuf::new();
            let filled = poll_fn(|context| {
                let filled = inlet.poll_fill(context, &mut input);
                if asks_again { filled.map(drop) } else { Poll::Ready(()) }
            });
            filled.await;
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
        let mut input = ReadBuf::new();
        let emptying = async {
            loop {
                theirs.reader.fill(&mut input).await.unwrap();
                input.skip(usize::MAX);
            }
        };
        tokio::select! {
            written = writing => drop(written.unwrap()),
            () = emptying => {}
            () = tokio::time::sleep(Duration::from_secs(10)) => {
                panic!("the writer sleeps on; the reader asks again: {asks_again}")
            }
        }
        reading.abort();
    }
}

/// The output of a layer for one read may be more than the block of the input has room for.
#[tokio::test]
async fn a_layer_is_shown_what_the_input_has_room_for_and_the_rest_without_another_read() {
    let (mut inlet, _outlet, _theirs) = end();
    let bytes: Vec<u8> = (0..READ_BYTES).map(|at| (at % 251) as u8).collect();
    inlet.received.append(&bytes);
    inlet.has_unseen = true;
    let mut input = ReadBuf::new();
    let kept = 64 * 1024;
    input.append(&vec![9; kept]);
    let mut taken = Vec::new();
    let mut fills = 0;
    while taken.len() < bytes.len() {
        // Nothing arrives from the other end, which is open.
        poll_fn(|context| inlet.poll_fill(context, &mut input)).await.unwrap();
        assert!(input.len() < READ_BYTES, "{}", input.len());
        taken.extend_from_slice(&input.as_slice()[kept..]);
        input = ReadBuf::new();
        input.append(&vec![9; kept]);
        fills += 1;
    }
    assert!(taken.iter().zip(&bytes).all(|(taken, sent)| *taken == !*sent));
    assert_eq!((fills, inlet.has_unseen), (2, false));
}

/// An input without room does not keep a record from the layer.
#[tokio::test]
async fn a_layer_is_shown_a_whole_record_however_much_the_input_holds() {
    let record = 70 * 1024;
    let (mut inlet, _outlet, _theirs) = end_with(record);
    inlet.received.append(&vec![5; 3 * record]);
    inlet.has_unseen = true;
    let mut input = ReadBuf::new();
    input.append(&vec![9; READ_BYTES]);
    for records in 1..=3 {
        poll_fn(|context| inlet.poll_fill(context, &mut input)).await.unwrap();
        assert_eq!(input.len(), READ_BYTES + records * record);
    }
    assert!(!inlet.has_unseen);
}

#[tokio::test]
async fn a_record_without_an_end_is_refused_before_it_fills_the_memory() {
    let (mut inlet, _outlet, theirs) = end_with(usize::MAX);
    let bytes = vec![5; 4 * LEFT_BYTES_MAX];
    let sending = async {
        let mut rest = &bytes[..];
        while theirs.outlet.writable().await.is_ok()
            && let Some(sent) = write(&theirs, rest)
        {
            rest = &rest[sent..];
        }
    };
    let reading = async {
        let mut input = ReadBuf::new();
        poll_fn(|context| inlet.poll_fill(context, &mut input)).await
    };
    let refused = tokio::select! {
        outcome = reading => outcome.unwrap_err(),
        () = sending => panic!("all was read"),
    };
    assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
}

/// Writes what there is room for; `None` if nothing is left.
fn write(connection: &Connection, bytes: &[u8]) -> Option<usize> {
    if bytes.is_empty() {
        return None;
    }
    Some(connection.outlet.try_write(&[IoSlice::new(bytes)]).unwrap_or(0))
}

#[tokio::test]
async fn a_direction_that_ends_ends_below_too() {
    let (_inlet, outlet, mut theirs) = end();
    outlet.try_write(&[IoSlice::new(&[5])]).unwrap();
    assert!(outlet.finish());
    let mut input = ReadBuf::new();
    let mut fill = async || {
        let filling = poll_fn(|context| theirs.reader.poll_fill(context, &mut input));
        tokio::time::timeout(Duration::from_secs(20), filling)
            .await
            .expect("the end comes")
            .unwrap()
    };
    assert_eq!((fill().await, fill().await), (1, 0));
}

/// A layer that takes nothing until it has received, and then fails.
struct Refusing;

impl Layer for Refusing {
    fn send(&mut self, _parts: &[IoSlice<'_>], _out: &mut Vec<u8>) -> io::Result<usize> {
        Ok(0)
    }

    fn is_open(&self) -> bool {
        false
    }

    fn receive(
        &mut self,
        _received: &mut [u8],
        _input: &mut ReadBuf,
        _out: &mut Vec<u8>,
    ) -> io::Result<Received> {
        Err(io::ErrorKind::InvalidData.into())
    }

    fn ended(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> bool {
        false
    }

    fn close(&mut self, _out: &mut Vec<u8>) {}
}

/// The handshake of a layer fails while a task of its own waits to write.
#[tokio::test]
async fn a_layer_that_fails_wakes_the_writer() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let below = stream::unix(ours, Framing::Tcp, "peer");
    let (mut inlet, outlet) = halves(below.reader, below.outlet, Refusing).unwrap();
    let woken = Arc::<AtomicBool>::default();
    let writer = Waker::from(Arc::new(Writer(woken.clone())));
    assert!(outlet.poll_writable(&mut Context::from_waker(&writer)).is_pending());
    theirs.writable().await.unwrap();
    theirs.try_write(b"x").unwrap();
    let mut input = ReadBuf::new();
    let failed = poll_fn(|context| inlet.poll_fill(context, &mut input)).await.unwrap_err();
    assert_eq!(failed.kind(), io::ErrorKind::InvalidData);
    assert!(woken.load(Ordering::Relaxed));
}

/// The task of the writer, which notes that it was woken.
struct Writer(Arc<AtomicBool>);

impl Wake for Writer {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
