//! The physical limit of remote messages: the least code that moves the same bytes over TCP, in
//! two processes of one thread each, with blocking sockets and 64 KiB a system call. A message has
//! the size of wigwag's on the wire: 8 bytes or more, a request 16. At most 16 are payload, written
//! and read message by message; the rest only travels. The receiver verifies as any participant.
//! Each run has a connection of its own; a read timeout set by the caller ends one that stalls.

use std::{
    io::{ErrorKind, Read, Result, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use crate::{
    digest::{Moved, SentDigest, SequenceDigest, Verified},
    statistics::SplitMix64,
};

/// Bytes that a system call moves, as far as whole messages fill it.
pub const BATCH_BYTES: usize = 64 * 1024;
/// How long asks wait for room before replies are read instead, lest both sides wait for room.
const ROOM_WAIT_MAX: Duration = Duration::from_millis(1);
/// Bytes of a request and of its reply.
pub type Sizes = [usize; 2];
/// What became of asks, and laps: the nanoseconds from one read of replies to the next.
pub type Asked = (Moved, Vec<u64>);
type Each<'a> = &'a mut dyn FnMut(&[u8]) -> Result<bool>;

/// Receives tells of `size` bytes until the stream ends, and answers with what became of them.
pub fn serve_tell(mut stream: &TcpStream, size: usize) -> Result<()> {
    let (mut digest, mut sum, mut verdict) = (SequenceDigest::new(1), 0_u64, [0; 64]);
    stream.read_exact(&mut verdict[..8])?;
    receive(stream, size, &mut |messages| {
        for message in messages.chunks_exact(size) {
            let amount = word(message, usize::from(size >= 16));
            sum = sum.wrapping_add(amount);
            digest.accept(0, word(message, 0) << 24 >> 24, amount);
        }
        Ok(true)
    })?;
    let found = digest.verdict(&[word(&verdict, 0)]);
    put(&mut verdict, found.to_words());
    put(&mut verdict[48..], [digest.content(0), sum]);
    stream.write_all(&verdict)
}

/// Sends `count` tells of `size` bytes, numbered in their first 40 bits, and awaits the verdict.
pub fn send_tell(mut stream: &TcpStream, size: usize, count: u64) -> Result<Moved> {
    let (mut batch, mut verdict, begun) = (vec![0; BATCH_BYTES.max(size)], [0; 64], Instant::now());
    let (mut digest, mut sum, mut random) = (SentDigest::default(), 0_u64, SplitMix64::new(count));
    stream.set_nodelay(true)?;
    stream.write_all(&count.to_le_bytes())?;
    while digest.count < count {
        let end = (batch.len() / size).min((count - digest.count) as usize) * size;
        for message in batch[..end].chunks_exact_mut(size) {
            let amount = random.draw();
            let words = [digest.count | amount << 40, amount];
            put(message, words);
            sum = sum.wrapping_add(words[usize::from(size >= 16)]);
            digest.stamp(words[usize::from(size >= 16)]);
        }
        stream.write_all(&batch[..end])?;
    }
    stream.shutdown(Shutdown::Write)?;
    stream.read_exact(&mut verdict)?;
    let mut found = Verified::from_words(std::array::from_fn(|index| word(&verdict, index)));
    let same = word(&verdict, 6) == digest.content && word(&verdict, 7) == sum;
    found.corrupt += u64::from(found.lost + found.duplicated == 0 && !same);
    Ok(Moved::since(begun, found))
}

/// Answers asks, two numbers each, with their wrapping sum until the stream ends.
pub fn serve_ask(mut stream: &TcpStream, [request, reply]: Sizes) -> Result<()> {
    let mut outbox = vec![0; (BATCH_BYTES / request + 1) * reply];
    receive(stream, request, &mut |asks| {
        let answers = &mut outbox[..asks.len() / request * reply];
        for (index, answer) in answers.chunks_exact_mut(reply).enumerate() {
            let ask = &asks[index * request..];
            put(answer, [word(ask, 0).wrapping_add(word(ask, 1))]);
        }
        stream.write_all(answers).and(Ok(true))
    })
}

/// Sends `count` asks of a random number and their own, up to `window` in flight, and holds each
/// reply against its request until one is wrong. With a window of one the laps are round trips.
pub fn send_ask(mut stream: &TcpStream, sizes: Sizes, count: u64, window: u64) -> Result<Asked> {
    let ([request, reply], mut window, mut unsent) = (sizes, window.max(1), 0..0);
    let (mut random, mut due) = (SplitMix64::new(count), SplitMix64::new(count));
    let (mut sent, mut received, mut wrong, mut reads) = (0, 0, 0, Vec::new());
    let (mut batch, begun) = (vec![0; BATCH_BYTES.max(request)], Instant::now());
    let most = window.div_ceil(2).min((batch.len() / request) as u64);
    stream.set_write_timeout(Some(ROOM_WAIT_MAX))?;
    receive(stream, reply, &mut |answers| {
        for answer in answers.chunks_exact(reply) {
            wrong += u64::from(word(answer, 0) != due.draw().wrapping_add(received));
            received += 1;
        }
        reads.push(begun.elapsed().as_nanos() as u64);
        while !unsent.is_empty() || (sent < count && sent + most <= received + window) {
            if unsent.is_empty() {
                unsent = 0..most.min(count - sent) as usize * request;
                for ask in batch[unsent.clone()].chunks_exact_mut(request) {
                    put(ask, [random.draw(), sent]);
                    sent += 1;
                }
            }
            let incomplete = unsent.len().div_ceil(request) as u64;
            match stream.write(&batch[unsent.clone()]) {
                Ok(written) => unsent.start += written,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                // The sockets hold no more than this, so the window shrinks to it.
                Err(_) if received + incomplete < sent => {
                    window = most.max(sent - received - incomplete);
                    break;
                }
                Err(_) => {}
            }
        }
        Ok(received < count && wrong == 0)
    })?;
    let found = Verified::from_words([count, received, count - received.min(count), 0, 0, wrong]);
    let laps = reads.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Ok((Moved::since(begun, found), laps))
}

/// Hands `each` the whole messages of every read, until it has had enough. Before the first read
/// it gets none, so that asks can begin. A torn message waits for the next read.
fn receive(stream: &TcpStream, size: usize, each: Each<'_>) -> Result<()> {
    let (mut inbox, mut whole, mut end, mut read) = (vec![0; size + BATCH_BYTES], 0, 0, 1);
    stream.set_nodelay(true)?;
    while read > 0 && each(&inbox[..whole])? {
        inbox.copy_within(whole..end, 0);
        end -= whole;
        read = read_some(stream, &mut inbox[end..end + BATCH_BYTES])?;
        (whole, end) = ((end + read) / size * size, end + read);
    }
    Ok(())
}

/// A signal, such as that of Ctrl-C, interrupts a read and ends nothing.
fn read_some(mut stream: &TcpStream, into: &mut [u8]) -> Result<usize> {
    loop {
        match stream.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

fn word(message: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(message.as_chunks().0[index])
}

/// Writes as many of `words` as find room.
fn put<const N: usize>(message: &mut [u8], words: [u64; N]) {
    for (place, word) in message.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
}
