//! Work that a server gives itself after a call or its start: at once, or when no call arrives for
//! a while.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wigwag::{Actor, Life, Local, Reason, Responder, This, lifecycle::Alive, timer::Timer};

use super::server::{ms, soon};

/// Waits for a span in which no call arrives.
struct Idler {
    says: UnboundedSender<&'static str>,
    /// The time limit that the start sets.
    at_start: Option<Duration>,
    /// True if the start gives the server work of its own.
    goes_on: bool,
    idle: Option<Timer>,
}

type Said = UnboundedReceiver<&'static str>;

impl Idler {
    fn new(at_start: Option<Duration>, goes_on: bool) -> (Idler, Said) {
        let (says, said) = unbounded_channel();
        (Idler { says, at_start, goes_on, idle: None }, said)
    }

    fn say(&self, what: &'static str) {
        let _ = self.says.send(what);
    }

    /// Cancels the idle timer, since a call has arrived.
    fn is_busy(&mut self) {
        if let Some(timer) = self.idle.take() {
            timer.cancel();
        }
    }

    fn wait(&mut self, this: &This<Idler>, delay: Duration) {
        self.idle = this.after(delay, |me| me.event_timeout()).ok();
    }
}

#[wigwag::actor(life)]
impl Idler {
    pub fn ping(&mut self) -> bool {
        self.is_busy();
        true
    }

    pub fn wait_idle(&mut self, this: &This<Self>, delay_ms: u64) {
        self.is_busy();
        self.wait(this, ms(delay_ms));
    }

    /// Sets the time limit from work that runs after the handler.
    pub fn go_on_and_wait(&mut self, this: &This<Self>, delay_ms: u64) {
        self.is_busy();
        this.later(async {}, move |me, ()| {
            me.say("continue");
            if let Some(this) = This::current() {
                me.wait(&this, ms(delay_ms));
            }
        });
    }

    pub fn event_timeout(&mut self) {
        self.idle = None;
        self.say("event timeout");
    }

    /// Answers first and continues before the next call.
    pub fn continue_reply(&mut self, answer: Responder<bool>) {
        self.say("before");
        answer.send(true);
        self.say("continue");
    }

    /// Does work that takes several handlers: the server tells each further piece to itself.
    pub fn continue_continue(&mut self, this: &This<Self>, rest: u64) {
        self.say("continue");
        if rest > 0 {
            this.reference().continue_continue(rest - 1).try_tell().unwrap();
        } else {
            this.stop(Reason::Normal);
        }
    }

    pub fn next(&mut self) {
        self.say("next");
    }
}

impl Life for Idler {
    async fn started(&mut self, this: &This<Idler>) -> Result<(), Reason> {
        if self.goes_on {
            self.say("started");
            this.reference().next().try_tell().map_err(Reason::failed)?;
        }
        if let Some(delay) = self.at_start {
            self.wait(this, delay);
        }
        Ok(())
    }
}

fn by_now(said: &mut Said) -> Vec<&'static str> {
    std::iter::from_fn(|| said.try_recv().ok()).collect()
}

/// gen_server_SUITE: start_event_timeout. A limit set in the start expires when no call arrives,
/// and does not when one arrives.
#[tokio::test(start_paused = true)]
async fn a_start_may_set_a_time_limit() {
    for interrupts in [false, true] {
        let (idler, mut said) = Idler::new(Some(ms(500)), false);
        let idler = idler.start().await.unwrap();
        tokio::time::sleep(ms(499)).await;
        if interrupts {
            assert!(idler.ping().ask().await.unwrap());
        }
        assert!(by_now(&mut said).is_empty());
        tokio::time::sleep(ms(1000)).await;
        let expected: &[&str] = if interrupts { &[] } else { &["event timeout"] };
        assert_eq!(by_now(&mut said), expected);
    }
}

/// gen_server_SUITE: start_event_timeout_zero, handle_event_timeout_zero. A limit of zero expires
/// at once, without another call, in the start and in a call.
#[tokio::test(start_paused = true)]
async fn a_time_limit_of_nothing_is_met_at_once() {
    let (idler, mut said) = Idler::new(Some(Duration::ZERO), false);
    let begun = tokio::time::Instant::now();
    let idler = idler.start().await.unwrap();
    assert_eq!(soon(said.recv()).await, Some("event timeout"));
    idler.wait_idle(0).ask().await.unwrap();
    assert_eq!(soon(said.recv()).await, Some("event timeout"));
    idler.go_on_and_wait(0).tell().await.unwrap();
    assert_eq!(soon(said.recv()).await, Some("continue"));
    assert_eq!(soon(said.recv()).await, Some("event timeout"));
    assert!(begun.elapsed() < ms(10), "{:?}", begun.elapsed());
}

/// gen_server_SUITE: handle_event_timeout. A limit may be set by an ask, by a tell, and by work
/// that runs after the handler; any call that the server counts as activity cancels it.
#[tokio::test(start_paused = true)]
async fn a_call_may_set_a_time_limit() {
    let (idler, mut said) = Idler::new(None, false);
    let idler = idler.spawn();
    for interrupts in [false, true] {
        for way in 0..3 {
            let mut expected = Vec::new();
            match way {
                0 => idler.wait_idle(500).ask().await.unwrap(),
                1 => idler.wait_idle(500).tell().await.unwrap(),
                _ => {
                    idler.go_on_and_wait(500).tell().await.unwrap();
                    expected.push("continue");
                }
            }
            tokio::time::sleep(ms(400)).await;
            if interrupts {
                assert!(idler.ping().ask().await.unwrap());
            } else {
                expected.push("event timeout");
            }
            tokio::time::sleep(ms(1000)).await;
            assert_eq!(by_now(&mut said), expected, "way {way}");
        }
    }
}

/// gen_server_SUITE: handle_event_timeout_plain. Control mail is no call: it does not cancel the
/// limit.
#[tokio::test(start_paused = true)]
async fn control_mail_puts_no_end_to_a_time_limit() {
    let (idler, mut said) = Idler::new(None, false);
    let idler = idler.spawn();
    idler.wait_idle(500).ask().await.unwrap();
    tokio::time::sleep(ms(400)).await;
    assert!(idler.visit(|idler| idler.idle.is_some()).await.unwrap());
    let handle = idler.handle().unwrap();
    handle.suspend();
    handle.resume();
    tokio::time::sleep(ms(200)).await;
    assert_eq!(by_now(&mut said), ["event timeout"]);
}

/// gen_server_SUITE: continue. Tells from a start to its own server are handled before all calls
/// that arrive after the start; a handler answers first and continues before the next call; and
/// work for more than one handler is told to the server itself, behind the waiting calls.
#[tokio::test]
async fn a_server_goes_on_by_itself() {
    let (idler, mut said) = Idler::new(None, true);
    let idler = idler.start().await.unwrap();
    let asked = idler.continue_reply().try_ask().unwrap();
    idler.next().try_tell().unwrap();
    assert!(soon(asked).await.unwrap());
    idler.ping().ask().await.unwrap();
    assert_eq!(by_now(&mut said), ["started", "next", "before", "continue", "next"]);
    idler.handle().unwrap().suspend();
    idler.continue_continue(2).try_tell().unwrap();
    idler.next().try_tell().unwrap();
    idler.handle().unwrap().resume();
    assert_eq!(soon(idler.handle().unwrap().ended()).await, Reason::Normal);
    assert_eq!(by_now(&mut said), ["continue", "next", "continue", "continue"]);
    drop(Local(idler));
}
