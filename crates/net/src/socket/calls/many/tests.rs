use std::thread;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use wigwag_sp::QueueLength;

use super::*;
use crate::socket::{Pair, Pub, Pull, Push, Sub};

const SECOND: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(60);

fn numbered(numbers: std::ops::Range<u32>) -> Vec<Bytes> {
    numbers.map(|number| Bytes::copy_from_slice(&number.to_be_bytes())).collect()
}

/// Messages that are so long that few of them find room on their way.
fn long(numbers: std::ops::Range<u32>) -> Vec<Bytes> {
    let long = |message: Bytes| Bytes::from([&message[..], &vec![7; 200_000]].concat());
    numbered(numbers).into_iter().map(long).collect()
}

fn number(message: &Bytes) -> u32 {
    u32::from_be_bytes(message[..4].try_into().unwrap())
}

fn numbers(messages: &[Bytes]) -> Vec<u32> {
    messages.iter().map(number).collect()
}

/// Polls `call` once.
async fn once<F: Future + Unpin>(call: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        Poll::Ready(match Pin::new(&mut *call).poll(context) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        })
    })
    .await
}

/// More messages than the queues hold, short ones and some that travel by reference.
#[tokio::test]
async fn all_messages_arrive_once_and_in_order() {
    const COUNT: u32 = 10_000;
    for address in ["inproc://many-in-order", "tcp://127.0.0.1:0"] {
        let (pull, push) = (Pull::new(), Push::new());
        let bound = pull.listen(address).await.unwrap().to_string();
        push.dial(&bound).await.unwrap();
        let sending = async {
            let mut messages = Vec::new();
            for number in 0..COUNT {
                let mut message = number.to_be_bytes().to_vec();
                message
                    .resize(if number % 100 == 0 { 20_000 } else { 4 + number as usize % 90 }, 7);
                messages.push(Bytes::from(message));
                if messages.len() == 700 || number == COUNT - 1 {
                    push.send_many(&mut messages).await.unwrap();
                    assert!(messages.is_empty());
                }
            }
        };
        let receiving = async {
            let mut messages = Vec::new();
            while messages.len() < COUNT as usize {
                let before = messages.len();
                let received = pull.recv_many(&mut messages, 100).await.unwrap();
                assert!((1..=100).contains(&received));
                assert_eq!(messages.len() - before, received);
            }
            let due: Vec<u32> = (0..COUNT).collect();
            assert_eq!(numbers(&messages), due);
            let length = |number: u32| match number % 100 {
                0 => 20_000,
                _ => 4 + number as usize % 90,
            };
            assert!(messages.iter().all(|message| message.len() == length(number(message))));
        };
        timeout(PATIENCE, async { tokio::join!(sending, receiving) }).await.unwrap();
        assert_eq!(push.statistics().traffic.messages_sent, u64::from(COUNT));
    }
}

/// A pair of sockets with room for two messages each; the receiver does not read yet.
async fn narrow(address: &str) -> (Pull, Push) {
    let (pull, push) = (Pull::new(), Push::new());
    pull.set_receive_queue(QueueLength::new(2).unwrap());
    push.set_send_queue(QueueLength::new(2).unwrap());
    pull.listen(address).await.unwrap();
    push.dial(address).await.unwrap();
    (pull, push)
}

#[tokio::test]
async fn a_call_that_is_dropped_has_sent_what_is_gone_from_its_list() {
    let (pull, push) = narrow("inproc://many-dropped").await;
    let mut messages = long(0..50);
    {
        let mut call = std::pin::pin!(push.send_many(&mut messages));
        assert!(once(&mut call).await.is_none());
        sleep(Duration::from_millis(5)).await;
        assert!(once(&mut call).await.is_none());
    }
    let left = messages.len() as u32;
    assert!((1..49).contains(&left), "{left}");
    assert_eq!(numbers(&messages), (50 - left..50).collect::<Vec<_>>());
    let mut received = Vec::new();
    let receiving = async {
        while received.last().map(number) != Some(99) {
            pull.recv_many(&mut received, 50).await.unwrap();
        }
    };
    let last = push.send(numbered(99..100).remove(0));
    timeout(PATIENCE, async { tokio::join!(async { last.await.unwrap() }, receiving) })
        .await
        .unwrap();
    assert_eq!(numbers(&received), (0..50 - left).chain([99]).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_refused_stays_in_the_list() {
    let (pull, push) = narrow("inproc://many-refused").await;
    let mut messages = long(0..50);
    let closing = async {
        sleep(Duration::from_millis(5)).await;
        push.0.0.begin_close();
    };
    let (outcome, ()) = tokio::join!(push.send_many(&mut messages), closing);
    assert!(matches!(outcome.unwrap_err().kind, SocketErrorKind::Closed));
    let left = messages.len() as u32;
    assert!((1..49).contains(&left), "{left}");
    let mut received = Vec::new();
    while received.len() < 50 - left as usize {
        timeout(PATIENCE, pull.recv_many(&mut received, 50)).await.unwrap().unwrap();
    }
    received.append(&mut messages);
    assert_eq!(numbers(&received), (0..50).collect::<Vec<_>>());
}

/// A reader that takes a message now and then lets the call go on for longer than its limit.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_begins_anew_when_something_was_sent() {
    let (pull, push) = narrow("inproc://many-slow").await;
    push.set_send_timeout(Some(SECOND));
    let mut messages = long(0..60);
    let begun = Instant::now();
    let mut last = begun;
    let reading = async {
        for _ in 0..30 {
            sleep(SECOND * 3 / 10).await;
            pull.recv().await.unwrap();
            last = Instant::now();
        }
        std::future::pending::<()>().await;
    };
    let outcome = tokio::select! {
        outcome = push.send_many(&mut messages) => outcome,
        () = reading => unreachable!(),
    };
    assert!(matches!(outcome.unwrap_err().kind, SocketErrorKind::TimedOut(SECOND)));
    assert!(!messages.is_empty());
    assert!(begun.elapsed() > 8 * SECOND, "{:?}", begun.elapsed());
    // The last message that was read may have made no room.
    assert!(last.elapsed() <= SECOND + Duration::from_millis(50), "{:?}", last.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_receiver_waits_for_the_first_message_for_its_time() {
    let (pull, push) = narrow("inproc://many-receive-limit").await;
    pull.set_receive_timeout(Some(SECOND));
    let (begun, mut messages) = (Instant::now(), Vec::new());
    let error = pull.recv_many(&mut messages, 9).await.unwrap_err();
    assert!(matches!(error.kind, SocketErrorKind::TimedOut(SECOND)));
    assert_eq!((begun.elapsed(), messages.len()), (SECOND, 0));
    assert_eq!(pull.recv_many(&mut messages, 0).await.unwrap(), 0);
    push.send("word").await.unwrap();
    assert_eq!(pull.recv_many(&mut messages, 9).await.unwrap(), 1);
    assert_eq!(messages, ["word"]);
}

#[tokio::test]
async fn one_call_receives_no_more_than_its_limits() {
    let (pull, push) = (Pull::new(), Push::new());
    pull.listen("inproc://many-limits").await.unwrap();
    push.dial("inproc://many-limits").await.unwrap();
    push.send_many(&mut numbered(0..900)).await.unwrap();
    let mut messages = Vec::new();
    // The messages come in several reads.
    while pull.statistics().traffic.messages_received < 900 {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(pull.recv_many(&mut messages, 3).await.unwrap(), 3);
    assert_eq!(pull.recv_many(&mut messages, usize::MAX).await.unwrap(), MESSAGES_PER_LOCK);
    assert_eq!(numbers(&messages), (0..3 + MESSAGES_PER_LOCK as u32).collect::<Vec<_>>());
}

/// Nothing holds a publisher back, so a queue that fills must be written between its messages: by their
/// number, and by their bytes.
#[tokio::test]
async fn a_subscriber_that_reads_misses_nothing_of_a_long_list() {
    for (count, bytes) in [(5_000, 4), (200, 10_000)] {
        let (publisher, sub) = (Pub::new(), Sub::new());
        sub.subscribe("").unwrap();
        let bound = publisher.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        sub.dial(&bound).await.unwrap();
        while publisher.statistics().pipes_open == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        let mut messages: Vec<Bytes> = numbered(0..count)
            .iter()
            .map(|number| Bytes::from([&number[..], &vec![7; bytes - 4]].concat()))
            .collect();
        publisher.send_many(&mut messages).await.unwrap();
        while messages.len() < count as usize {
            timeout(PATIENCE, sub.recv_many(&mut messages, 256)).await.unwrap().unwrap();
        }
        assert_eq!(numbers(&messages), (0..count).collect::<Vec<_>>(), "{bytes} bytes each");
    }
}

#[tokio::test]
async fn a_pair_sends_lists_both_ways() {
    let (one, other) = (Pair::new(), Pair::new());
    one.listen("inproc://many-pair").await.unwrap();
    other.dial("inproc://many-pair").await.unwrap();
    for (from, to) in [(&one, &other), (&other, &one)] {
        from.send_many(&mut numbered(0..20)).await.unwrap();
        let mut received = Vec::new();
        while received.len() < 20 {
            timeout(PATIENCE, to.recv_many(&mut received, 7)).await.unwrap().unwrap();
        }
        assert_eq!(numbers(&received), (0..20).collect::<Vec<_>>());
    }
}

/// Enough threads and messages for them to take turns.
#[test]
fn threads_that_send_lists_on_one_socket_lose_and_reorder_nothing() {
    const THREADS: u32 = 4;
    const EACH: u32 = 20_000;
    let (pull, push) = (Pull::new(), Push::new());
    let address = pull.blocking_listen("tcp://127.0.0.1:0").unwrap().to_string();
    push.blocking_dial(&address).unwrap();
    thread::scope(|scope| {
        for sender in 0..THREADS {
            let push = &push;
            scope.spawn(move || {
                for first in (0..EACH).step_by(50) {
                    let first = sender * EACH + first;
                    push.blocking_send_many(&mut numbered(first..first + 50)).unwrap();
                }
            });
        }
        let (mut next, mut received) = ([0; THREADS as usize], Vec::new());
        for _ in 0..THREADS * EACH {
            if received.is_empty() {
                pull.blocking_recv_many(&mut received, 200).unwrap();
                received.reverse();
            }
            let number = received.pop().map(|message| number(&message)).unwrap();
            let due = &mut next[(number / EACH) as usize];
            assert_eq!(number % EACH, *due);
            *due += 1;
        }
    });
}
