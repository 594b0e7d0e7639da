//! Timers: exact to the millisecond under paused time, with five times the tolerance on the real
//! clock.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tokio::time::{Instant, advance, sleep, timeout};
use wigwag::{
    Actor, ActorOptions, Handle, Life, Local, Reason, This,
    lifecycle::{Alive, Down},
    supervise::{Child, Strategy, Supervisor},
    timer::{RateLimiter, Timer, TimerError},
};

/// Sets timers and reports each call that a timer makes, with its time.
struct Clock {
    began: Instant,
    says: Sender<(u64, &'static str)>,
    timers: Vec<Timer>,
    /// When a monitored actor ends, the clock cancels a timer and stores here whether that was in
    /// time.
    cancels_at_down: Option<bool>,
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[wigwag::actor(life)]
impl Clock {
    pub fn after(&mut self, this: &This<Self>, delay: u64, word: u8) {
        self.timers.push(this.after(ms(delay), move |me| me.tick(word)).unwrap());
    }

    pub fn every(&mut self, this: &This<Self>, period: u64, word: u8) {
        self.timers.push(this.every(ms(period), move |me| me.tick(word)).unwrap());
    }

    pub fn tick(&mut self, word: u8) {
        let word = ["a", "b", "c", "d"][usize::from(word)];
        let _ = self.says.send((self.began.elapsed().as_millis() as u64, word));
    }

    pub async fn dawdle(&mut self, duration: u64) {
        sleep(ms(duration)).await;
    }

    /// Holds the actor's thread until the timer is long overdue, then cancels it.
    pub fn cancel_when_due(&mut self, timer: u64) -> bool {
        std::thread::sleep(ms(50));
        self.timers[timer as usize].cancel()
    }

    pub fn cancel(&mut self, timer: u64) -> bool {
        self.timers[timer as usize].cancel()
    }

    pub fn monitor(&mut self, this: &This<Self>, actor: Local<Handle>) {
        this.monitor(&actor.0).unwrap();
    }

    /// True if a timer is refused because the actor takes no calls any more.
    pub fn is_refused(&self, this: &This<Self>) -> bool {
        this.after(ms(1), |me| me.nothing()).map(drop) == Err(TimerError::Ended)
    }

    /// Sets a timer of an hour, whose call holds the value.
    pub fn hold(&self, this: &This<Self>, held: Local<Arc<()>>) {
        drop(this.after(ms(3_600_000), move |me| me.take(held)).unwrap());
    }

    pub fn take(&self, _held: Local<Arc<()>>) {}

    pub fn panics(&mut self, this: &This<Self>) {
        let set = this.every(ms(1), |me| {
            assert!(me.handle().is_err(), "no call");
            me.nothing()
        });
        drop(set.unwrap());
    }

    pub fn set_all(&mut self, this: &This<Self>) -> u64 {
        let set = |_: &u64| match this.after(ms(3_600_000), |me| me.tick(0)) {
            Ok(timer) => {
                self.timers.push(timer);
                true
            }
            Err(error) => {
                assert_eq!(error, TimerError::TooMany);
                assert!(error.to_string().contains("1024"), "{error}");
                false
            }
        };
        (0..5_000).take_while(set).count() as u64
    }

    pub fn set_nothing(&mut self, this: &This<Self>, count: u64) {
        for _ in 0..count {
            this.after(ms(0), |me| me.nothing()).unwrap();
        }
    }

    pub fn nothing(&self) {}
}

impl Life for Clock {
    async fn started(&mut self, this: &This<Clock>) -> Result<(), Reason> {
        self.began = Instant::now();
        drop(this.after(ms(1_000_000_000), |me| me.tick(0)));
        Ok(())
    }

    fn down(&mut self, _: &This<Clock>, _: Down) {
        self.cancels_at_down = Some(self.timers[0].cancel());
        self.says
            .send((0, if self.cancels_at_down == Some(true) { "in time" } else { "late" }))
            .unwrap();
    }
}

fn clock(options: ActorOptions) -> (ClockRef, Receiver<(u64, &'static str)>) {
    let (says, heard) = channel();
    let clock = Clock { began: Instant::now(), says, timers: Vec::new(), cancels_at_down: None };
    (clock.spawn_with(options), heard)
}

/// All reports so far, after the calls under way have finished.
async fn said(clock: &ClockRef, heard: &Receiver<(u64, &'static str)>) -> Vec<(u64, &'static str)> {
    clock.nothing().ask().await.unwrap();
    heard.try_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn calls_come_when_they_are_due_and_in_order() {
    let (clock, heard) = clock(ActorOptions::default());
    clock.nothing().ask().await.unwrap();
    for (delay, word) in [(30, 2), (10, 0), (20, 1), (20, 3), (0, 3)] {
        clock.after(delay, word).tell().await.unwrap();
    }
    clock.nothing().ask().await.unwrap();
    sleep(ms(100)).await;
    let heard = said(&clock, &heard).await;
    assert_eq!(heard[1..], [(10, "a"), (20, "b"), (20, "d"), (30, "c")]);
    // The clock has a resolution of one millisecond, so a delay of zero may take up to one.
    assert!(heard[0].0 <= 1 && heard[0].1 == "d", "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_keeps_its_step_and_leaves_out_what_nobody_saw() {
    let (clock, heard) = clock(ActorOptions::default());
    clock.every(10, 0).ask().await.unwrap();
    sleep(ms(35)).await;
    assert_eq!(said(&clock, &heard).await, [(10, "a"), (20, "a"), (30, "a")]);
    // The actor is busy from 35 to 85: of the calls due at 40, 50, … 80 one is kept.
    clock.dawdle(50).ask().await.unwrap();
    sleep(ms(20)).await;
    assert_eq!(said(&clock, &heard).await, [(85, "a"), (90, "a"), (100, "a")]);
    assert!(clock.cancel(0).ask().await.unwrap());
    assert!(!clock.cancel(0).ask().await.unwrap());
    sleep(ms(100)).await;
    assert_eq!(said(&clock, &heard).await, []);
}

#[tokio::test(start_paused = true)]
async fn periods_nobody_saw_are_left_out_however_many_pass_at_once() {
    let (clock, heard) = clock(ActorOptions::default());
    clock.every(10, 0).ask().await.unwrap();
    advance(ms(95)).await;
    sleep(ms(10)).await;
    assert_eq!(said(&clock, &heard).await, [(95, "a"), (100, "a")]);
}

#[tokio::test]
async fn a_due_timer_that_is_cancelled_does_not_fire() {
    let (clock, heard) = clock(ActorOptions::default().own_thread());
    clock.after(1, 0).ask().await.unwrap();
    clock.every(1, 1).ask().await.unwrap();
    // The timers run on the actor's thread, since its runtime has no other: they are due but have
    // not fired.
    let cancelled = clock.cancel_when_due(0).ask().await.unwrap();
    let came = said(&clock, &heard).await.iter().any(|(_, word)| *word == "a");
    assert_ne!(cancelled, came, "it came, or it was cancelled");
    assert!(clock.cancel_when_due(1).ask().await.unwrap());
    said(&clock, &heard).await;
    sleep(ms(20)).await;
    assert_eq!(said(&clock, &heard).await, []);
}

/// The timer fires while the actor is suspended, so its call waits in the mailbox. Control mail
/// overtakes that call and cancels it.
#[tokio::test(start_paused = true)]
async fn control_mail_cancels_a_call_that_waits() {
    for cancels in [true, false] {
        let (clock, heard) = clock(ActorOptions::default());
        let (other, _heard) = self::clock(ActorOptions::default());
        let (handle, other) = (clock.handle().unwrap(), other.handle().unwrap());
        clock.after(10, 0).ask().await.unwrap();
        clock.monitor(Local(other.clone())).ask().await.unwrap();
        handle.suspend();
        sleep(ms(20)).await;
        assert_eq!(handle.waiting(), 1);
        if cancels {
            other.kill();
        }
        handle.resume();
        let expected = if cancels { (0, "in time") } else { (20, "a") };
        assert_eq!(said(&clock, &heard).await, [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn timers_end_with_their_actor_and_do_not_keep_it() {
    let (clock, heard) = clock(ActorOptions::default());
    clock.every(10, 0).ask().await.unwrap();
    let handle = clock.handle().unwrap();
    drop(clock);
    assert_eq!(timeout(ms(5), handle.ended()).await, Ok(Reason::Normal));
    sleep(ms(100)).await;
    assert_eq!(heard.try_iter().count(), 0);

    let (clock, heard) = self::clock(ActorOptions::default());
    clock.after(10, 0).ask().await.unwrap();
    let handle = clock.handle().unwrap();
    handle.suspend();
    sleep(ms(20)).await;
    handle.kill();
    assert_eq!(handle.waiting(), 0);
    sleep(ms(20)).await;
    assert_eq!(heard.try_iter().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_actor_that_drains_sets_no_timers_and_hears_none_that_was_not_due() {
    let (clock, heard) = clock(ActorOptions::default());
    let handle = clock.handle().unwrap();
    assert!(!clock.is_refused().ask().await.unwrap());
    clock.every(10, 0).ask().await.unwrap();
    handle.suspend();
    let waits = clock.is_refused().try_ask().unwrap();
    handle.drain();
    sleep(ms(100)).await;
    handle.resume();
    assert!(waits.await.unwrap());
    assert_eq!(timeout(ms(5), handle.ended()).await, Ok(Reason::Shutdown));
    assert_eq!(heard.try_iter().count(), 0);
}

/// The call of a timer may hold references, which keep their actors alive.
#[tokio::test(start_paused = true)]
async fn the_calls_of_timers_are_dropped_with_their_actor() {
    let ends: [fn(&Handle) -> bool; 3] = [Handle::kill, Handle::stop, Handle::drain];
    for end in ends {
        let (clock, _heard) = clock(ActorOptions::default());
        let (handle, held) = (clock.handle().unwrap(), Arc::new(()));
        clock.hold(Local(held.clone())).ask().await.unwrap();
        assert_eq!(Arc::strong_count(&held), 2);
        assert!(end(&handle));
        handle.ended().await;
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_actor_has_so_many_timers_and_no_more() {
    let (clock, _heard) = clock(ActorOptions::default());
    // One timer was set when the actor started.
    assert_eq!(clock.set_all().ask().await.unwrap(), 1023);
    assert_eq!(clock.set_all().ask().await.unwrap(), 0);
    assert!(clock.cancel(7).ask().await.unwrap());
    assert_eq!(clock.set_all().ask().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn timers_whose_call_has_come_do_not_count() {
    let (clock, _heard) = clock(ActorOptions::default());
    for _ in 0..20 {
        clock.set_nothing(500).ask().await.unwrap();
        sleep(ms(2)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_stops_its_actor() {
    let (clock, _heard) = clock(ActorOptions::default());
    clock.panics().ask().await.unwrap();
    let ended = timeout(ms(100), clock.handle().unwrap().ended()).await;
    assert_eq!(ended, Ok(Reason::Panicked("no call".into())));
}

/// A restarted actor has a new state, which sets timers of its own and holds no `Timer` of before.
#[tokio::test(start_paused = true)]
async fn timers_end_with_each_life_of_a_supervised_actor() {
    let (says, heard) = channel();
    let make = move || Clock {
        began: Instant::now(),
        says: says.clone(),
        timers: Vec::new(),
        cancels_at_down: None,
    };
    let tree = Supervisor::new(Strategy::OneForOne).child(Child::new("clock", make));
    let tree = tree.start().await.unwrap();
    let clock = tree.child::<Clock>("clock").await.unwrap().unwrap();
    let handle = clock.handle().unwrap();

    clock.after(10, 0).ask().await.unwrap();
    clock.every(10, 1).ask().await.unwrap();
    clock.after(500, 2).ask().await.unwrap();
    handle.suspend();
    sleep(ms(20)).await;
    assert_eq!(handle.waiting(), 2, "two calls are due");
    handle.stop_with(Reason::failed("on purpose"));
    clock.nothing().ask().await.unwrap();
    sleep(ms(1000)).await;
    assert_eq!(said(&clock, &heard).await, []);

    // The next life has its full number of timers, one of which it has set at its start.
    assert_eq!(clock.set_all().ask().await.unwrap(), 1023);
    tree.handle().unwrap().stop();
    tree.handle().unwrap().ended().await;
}

#[tokio::test]
async fn on_the_real_clock_a_timer_is_never_early() {
    let (clock, heard) = clock(ActorOptions::default());
    clock.after(100, 0).ask().await.unwrap();
    // The limit only turns a hang into a failure.
    let (at, _) = timeout(ms(20_000), async {
        loop {
            match heard.try_recv() {
                Ok(said) => return said,
                Err(_) => sleep(ms(5)).await,
            }
        }
    })
    .await
    .unwrap();
    assert!(at >= 100, "{at}");
}

#[tokio::test(start_paused = true)]
async fn a_pace_lets_so_many_go_in_any_span_and_the_rest_in_order() {
    let pace = RateLimiter::new(3, ms(100));
    let began = Instant::now();
    let mut went = Vec::new();
    for pause in [0, 0, 50, 0, 0, 0, 0] {
        sleep(ms(pause)).await;
        pace.wait().await;
        went.push(began.elapsed().as_millis());
    }
    assert_eq!(went, [0, 0, 50, 100, 100, 150, 200]);
    assert!(pace.try_now() && !pace.try_now());
    // A waiter that gives up does not count against the rate.
    assert!(timeout(ms(10), pace.wait()).await.is_err());
    sleep(ms(40)).await;
    assert!(pace.try_now() && !pace.try_now());
}

/// The end of the interval is beyond what the clock represents.
#[tokio::test(start_paused = true)]
async fn a_limiter_with_an_endless_interval_allows_its_number_once() {
    for interval in [Duration::MAX, Duration::from_secs(u64::MAX)] {
        let pace = RateLimiter::new(2, interval);
        assert!(pace.try_now() && pace.try_now() && !pace.try_now());
        assert!(timeout(ms(1_000_000), pace.wait()).await.is_err());
    }
}
