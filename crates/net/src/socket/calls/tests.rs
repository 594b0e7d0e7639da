use std::task::{Wake, Waker};

use wigwag_sp::{ContextId, Protocol, Pull, RawMessage, Setting, Surveyor};
use wigwag_wire::Time;

use super::*;
use crate::sync::{AtomicBool, Ordering};

const PEER: PipeId = PipeId(1);

/// Whether the task of a call was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Woken {
    /// True if the task was woken since the last look.
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// A call in a task of its own.
struct Task<F> {
    call: Pin<Box<F>>,
    woken: Arc<Woken>,
}

impl<F: Future> Task<F> {
    /// Begins a call that has to wait.
    fn waiting(call: F) -> Task<F> {
        let mut task = Task { call: Box::pin(call), woken: Arc::default() };
        assert!(task.poll().is_pending());
        task
    }

    fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(self.woken.clone());
        self.call.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

fn core_of(protocol: impl Protocol + 'static) -> Arc<Core> {
    let core = Core::new(Box::new(protocol));
    core.with(|state| state.protocol.open(PEER, Time::START)).unwrap();
    core
}

/// Messages that have come with one read.
fn deliver(core: &Arc<Core>, messages: usize) {
    core.with(|state| {
        for _ in 0..messages {
            state.protocol.receive(PEER, Bytes::from_static(b"x"), Time::START);
        }
    });
}

fn receiving(core: &Arc<Core>) -> Task<Receiving<'_, Bytes>> {
    Task::waiting(core.recv(Caller::SOCKET, None))
}

#[test]
fn each_receiver_that_gets_a_message_wakes_the_next_one() {
    let core = core_of(Pull::new());
    let mut receivers = [(); 3].map(|()| receiving(&core));
    deliver(&core, 2);
    for receiver in &mut receivers[..2] {
        assert!(receiver.woken.take());
        assert!(receiver.poll().is_ready());
    }
    assert!(receivers[2].woken.take());
    assert!(receivers[2].poll().is_pending(), "there were two messages");
    deliver(&core, 1);
    assert!(receivers[2].woken.take());
}

#[test]
fn a_receiver_that_was_woken_and_is_dropped_wakes_the_next_one() {
    let core = core_of(Pull::new());
    let [first, mut second] = [(); 2].map(|()| receiving(&core));
    deliver(&core, 1);
    assert!(first.woken.take() && !second.woken.take());
    drop(first);
    assert!(second.woken.take());
    assert!(second.poll().is_ready());
}

#[test]
fn a_call_that_is_dropped_unwoken_wakes_nobody() {
    let core = core_of(Pull::new());
    let [first, second] = [(); 2].map(|()| receiving(&core));
    drop(first);
    assert!(!second.woken.take());
}

#[test]
fn closing_wakes_the_calls_of_every_queue() {
    let core = core_of(wigwag_sp::Pair1Many::new());
    let caller = Caller::to_peer(PEER);
    let message = || {
        let header = Bytes::from_static(b"\0\0\0\x01");
        RawMessage { header, body: Bytes::new() }
    };
    while core.try_send(caller, message()).is_ok() {}
    let mut sending = Task::waiting(core.send(caller, message()));
    let mut receiving = receiving(&core);
    core.begin_close();
    assert!(sending.woken.take() && sending.poll().is_ready());
    assert!(receiving.woken.take() && receiving.poll().is_ready());
}

/// The timers sleep until the end of the long survey when the short one is sent.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_comes_before_the_planned_one_is_kept() {
    let core = core_of(Surveyor::new(1));
    let contexts = [3600, 1].map(|seconds| {
        core.with(|state| {
            let context = state.protocol.open_context().unwrap();
            let time = Setting::SurveyTime(Some(Duration::from_secs(seconds)));
            state.protocol.set_in(context, time).unwrap();
            context
        })
    });
    let survey = |context: ContextId| core.send(Caller::exclusive(context), Bytes::new());
    let begun = tokio::time::Instant::now();
    survey(contexts[0]).await.unwrap();
    // The task of the timers has begun to sleep.
    tokio::time::sleep(Duration::from_millis(1)).await;
    survey(contexts[1]).await.unwrap();
    let over = core.recv::<Bytes>(Caller::exclusive(contexts[1]), None).await.unwrap_err();
    assert!(matches!(over.kind, SocketErrorKind::SurveyOver), "{over}");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    core.begin_close();
}
