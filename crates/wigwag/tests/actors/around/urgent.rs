//! Urgent calls: they overtake all ordinary calls, keep their own order, and are limited in number.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tokio::time::timeout;
use wigwag::{
    Actor, ActorOptions, AskError, CallErrorKind, Local, Node, Refused, This, WhenFull,
    call::Urgent, lifecycle::Alive,
};

/// The number of urgent calls that a mailbox holds.
const ROOM: usize = 256;

#[derive(Default)]
struct Recorder {
    came: Vec<u64>,
    /// Urgent calls that the recorder has sent itself.
    again: u64,
}

#[wigwag::actor]
impl Recorder {
    pub fn number(&mut self, number: u64) -> u64 {
        self.came.push(number);
        number
    }

    /// Blocks until the holder of the other end sends.
    pub fn hold(&mut self, begun: Local<Sender<()>>, go: Local<Receiver<()>>) {
        begun.0.send(()).unwrap();
        go.0.recv().unwrap();
    }

    /// Sends itself another urgent call, until an ordinary call has been handled.
    pub fn again(&mut self, this: &This<Self>) {
        self.again += 1;
        if self.came.is_empty() && self.again < 100_000 {
            this.reference().again().urgent().try_tell().unwrap();
        }
    }

    pub fn tries(&self) -> u64 {
        self.again
    }

    pub fn came(&self) -> Vec<u64> {
        self.came.clone()
    }
}

/// Spawns a recorder and suspends it.
fn suspended(options: ActorOptions) -> (RecorderRef, wigwag::Handle) {
    let recorder = Recorder::default().spawn_with(options);
    let handle = recorder.handle().unwrap();
    handle.suspend();
    (recorder, handle)
}

fn kind<M>(outcome: Result<(), Refused<M>>) -> Option<CallErrorKind> {
    outcome.err().map(|refused| refused.error.kind)
}

#[tokio::test]
async fn urgent_calls_go_before_a_thousand_that_wait_and_keep_their_order() {
    let (recorder, handle) = suspended(ActorOptions::default());
    for number in 0..1_000 {
        recorder.number(number).try_tell().unwrap();
    }
    for number in 1_000..1_200 {
        recorder.number(number).urgent().try_tell().unwrap();
    }
    let asked = recorder.number(1_200).urgent().try_ask().unwrap();
    assert_eq!(handle.waiting(), 1_201);
    handle.resume();
    assert_eq!(asked.await.unwrap(), 1_200);
    let expected: Vec<u64> = (1_000..1_201).chain(0..1_000).collect();
    assert_eq!(recorder.came().ask().await.unwrap(), expected);
}

/// The current run holds 63 more calls; the urgent call is handled next all the same.
#[test]
fn the_run_at_hand_is_broken_off_after_one_call() {
    let recorder = Recorder::default().spawn_with(ActorOptions::default().own_thread());
    let handle = recorder.handle().unwrap();
    let (begins, begun) = channel();
    let (goes, go) = channel();
    handle.suspend();
    recorder.hold(Local(begins), Local(go)).try_tell().unwrap();
    for number in 0..100 {
        recorder.number(number).try_tell().unwrap();
    }
    handle.resume();
    begun.recv().unwrap();
    recorder.number(500).urgent().try_tell().unwrap();
    recorder.number(501).urgent().blocking_tell().unwrap();
    goes.send(()).unwrap();
    assert_eq!(recorder.number(502).urgent().blocking_ask().unwrap(), 502);
    let came = recorder.came().blocking_ask().unwrap();
    assert_eq!(came[..2], [500, 501]);
    let ordinary: Vec<u64> = came.into_iter().filter(|number| *number < 500).collect();
    assert_eq!(ordinary, (0..100).collect::<Vec<_>>(), "what was broken off keeps its order");
}

#[tokio::test]
async fn urgent_calls_have_room_of_their_own_and_no_more_than_that() {
    let (recorder, handle) = suspended(ActorOptions::default().mailbox_calls(1));
    recorder.number(1_000).try_tell().unwrap();
    for number in 0..ROOM as u64 {
        recorder.number(number).urgent().try_tell().unwrap();
    }
    assert_eq!(kind(recorder.number(0).urgent().try_tell()), Some(CallErrorKind::Full));
    assert!(recorder.number(0).urgent().try_ask().is_err());
    let limit = Duration::from_millis(1);
    let late = recorder.number(7).urgent().timeout(limit).tell().await;
    let Refused { message, error } = late.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Timeout(limit));
    let late = recorder.number(7).urgent().timeout(limit).ask().await;
    assert!(matches!(late, Err(AskError::Refused(_))), "it was never in");
    // A waiting call enters when there is room.
    let mut waits = std::pin::pin!(recorder.call::<u64>(message).urgent().ask());
    assert!(timeout(limit, &mut waits).await.is_err());
    handle.resume();
    assert_eq!(waits.await.unwrap(), 7);
    let came = recorder.came().ask().await.unwrap();
    assert_eq!(came.len(), ROOM + 2);
    assert_eq!(came[..ROOM], (0..ROOM as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_mailboxs_rule_holds_for_urgent_calls_without_room() {
    for (rule, left) in [(WhenFull::DropOldest, 1), (WhenFull::DropNewest, 0)] {
        let (recorder, handle) = suspended(ActorOptions::default().when_full(rule));
        for number in 0..=ROOM as u64 {
            recorder.number(number).urgent().try_tell().unwrap();
        }
        assert_eq!(handle.dropped(), 1);
        handle.resume();
        let came = recorder.came().ask().await.unwrap();
        assert_eq!((came.len(), came[0]), (ROOM, left));
    }
    let (recorder, _) = suspended(ActorOptions::default().when_full(WhenFull::Refuse));
    for number in 0..ROOM as u64 {
        recorder.number(number).urgent().try_tell().unwrap();
    }
    let refused = recorder.number(0).urgent().tell().await;
    assert_eq!(kind(refused), Some(CallErrorKind::Full));
}

#[tokio::test]
async fn a_drained_actor_handles_what_was_urgent_and_lets_nothing_in() {
    let (recorder, handle) = suspended(ActorOptions::default());
    let ordinary = recorder.number(1).try_ask().unwrap();
    let urgent = recorder.number(2).urgent().try_ask().unwrap();
    handle.drain();
    handle.resume();
    assert_eq!((urgent.await.unwrap(), ordinary.await.unwrap()), (2, 1));
    handle.ended().await;
    let refused = recorder.number(3).urgent().tell().await;
    assert_eq!(kind(refused), Some(CallErrorKind::ActorStopped));
}

#[tokio::test]
async fn the_end_refuses_what_is_urgent() {
    for kills in [false, true] {
        let (recorder, handle) = suspended(ActorOptions::default());
        recorder.number(1).urgent().try_tell().unwrap();
        let asked = recorder.number(2).urgent().try_ask().unwrap();
        let fill = (2..ROOM as u64).map(|at| recorder.number(at).urgent().try_ask().unwrap());
        let fill: Vec<_> = fill.collect();
        let waits = recorder.number(3).urgent().ask();
        let ends = async {
            tokio::task::yield_now().await;
            if kills { handle.kill() } else { handle.stop() }
        };
        let (waited, _) = tokio::join!(waits, ends);
        assert!(matches!(waited, Err(AskError::Refused(_))), "it waited for room");
        assert_eq!(asked.await.unwrap_err().kind, CallErrorKind::ActorStopped);
        for asked in fill {
            assert_eq!(asked.await.unwrap_err().kind, CallErrorKind::ActorStopped);
        }
        recorder.number(4).urgent().try_tell().unwrap_err();
    }
}

#[tokio::test]
async fn an_urgent_call_whose_asker_has_gone_is_skipped() {
    let (recorder, handle) = suspended(ActorOptions::default());
    drop(recorder.number(1).urgent().try_ask().unwrap());
    let kept = recorder.number(2).urgent().try_ask().unwrap();
    handle.resume();
    kept.await.unwrap();
    assert_eq!(recorder.came().ask().await.unwrap(), [2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_senders_of_numbered_calls_keep_their_order() {
    const CALLS: u64 = 2_000;
    let recorder = Recorder::default().spawn();
    let senders: Vec<_> = (0..8)
        .map(|sender| {
            let recorder = recorder.clone();
            // Half of the senders run in turns, half in plain tasks.
            let sends = async move {
                for number in 0..CALLS {
                    let call = || recorder.number(sender * CALLS + number);
                    call().urgent().tell().await.unwrap();
                    if number % 16 == 0 {
                        recorder.number(u64::MAX).tell().await.unwrap();
                    }
                }
            };
            if sender % 2 == 0 { wigwag::spawn(sends) } else { tokio::spawn(sends) }
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    // An ordinary call may be granted a run before the last urgent ones.
    recorder.tries().urgent().ask().await.unwrap();
    let came = recorder.came().ask().await.unwrap();
    for sender in 0..8 {
        let range = sender * CALLS..(sender + 1) * CALLS;
        let its: Vec<u64> = came.iter().copied().filter(|one| range.contains(one)).collect();
        assert_eq!(its, range.collect::<Vec<_>>());
    }
    assert_eq!(came.len() as u64, 8 * (CALLS + CALLS / 16));
}

#[tokio::test]
async fn a_flood_that_calls_itself_urgent_lets_the_others_have_their_turn() {
    let (recorder, handle) = suspended(ActorOptions::default());
    recorder.again().urgent().try_tell().unwrap();
    recorder.number(1).try_tell().unwrap();
    handle.resume();
    let tries = recorder.tries().ask().await.unwrap();
    assert!((16..=18).contains(&tries), "{tries} runs went before it");
}

#[tokio::test]
async fn control_mail_goes_before_urgent_calls() {
    let (recorder, handle) = suspended(ActorOptions::default());
    let urgent = recorder.number(1).urgent().try_ask().unwrap();
    handle.stop();
    handle.resume();
    assert_eq!(urgent.await.unwrap_err().kind, CallErrorKind::ActorStopped);
}

#[tokio::test]
async fn elsewhere_nothing_is_urgent() -> Result<(), Box<dyn std::error::Error>> {
    let (service, client) = (Node::new(), Node::new());
    service.export("recorder", &Recorder::default().spawn())?;
    let bound = service.listen("tcp://127.0.0.1:0").await?;
    let recorder = client.actor::<Recorder>(&format!("{bound}/recorder")).await?;
    let urgent: Urgent<'_, _, u64> = recorder.number(5).urgent();
    let Err(AskError::Refused(Refused { message, error })) = urgent.ask().await else {
        panic!("it was let in");
    };
    assert_eq!(error.kind, CallErrorKind::Remote);
    assert_eq!(recorder.call::<u64>(message).ask().await?, 5);
    Ok(())
}
