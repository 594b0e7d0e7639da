//! Virtual time stands still while any task can run.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::time::{Instant, interval, sleep};
use wigwag::testing::{self, VIRTUAL_TIME_MAX};
use wigwag::{Actor, CallErrorKind, This};

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Default)]
struct Bell {
    rung: u32,
}

#[wigwag::actor]
impl Bell {
    /// Rings each hour, `times` times.
    pub fn ring(&mut self, times: u32, this: &This<Self>) {
        self.rung += 1;
        if times > 1 {
            this.after(HOUR, |bell| bell.ring(times - 1)).unwrap();
        }
    }

    pub fn rung(&self) -> u32 {
        self.rung
    }

    pub async fn hang(&mut self) {
        pending().await
    }
}

fn complaint(body: impl Future<Output = ()>) -> String {
    let payload =
        catch_unwind(AssertUnwindSafe(|| testing::run(0, body))).expect_err("it waits for ever");
    payload.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn a_week_of_timers_is_over_at_once() {
    let hours = 7 * 24;
    let (rung, passed) = testing::run(7, async {
        let (bell, begun) = (Bell::default().spawn(), Instant::now());
        bell.ring(hours + 1).tell().await.unwrap();
        sleep(HOUR * hours + HOUR / 2).await;
        (bell.rung().ask().await.unwrap(), begun.elapsed())
    });
    assert_eq!(rung, hours + 1);
    assert_eq!(passed, HOUR * hours + HOUR / 2);
}

#[test]
fn an_ask_that_nobody_answers_is_over_after_its_time() {
    let (error, passed) = testing::run(1, async {
        let (bell, begun) = (Bell::default().spawn(), Instant::now());
        let asked = bell.hang().timeout(HOUR).ask().await;
        (asked.unwrap_err().error().kind, begun.elapsed())
    });
    assert_eq!((error, passed), (CallErrorKind::Timeout(HOUR), HOUR));
}

#[test]
fn a_body_that_waits_when_nothing_can_go_on_ends() {
    let right = "nothing can go on: the body waits, and within 30 days of virtual time nobody \
                 wakes it";
    assert_eq!(complaint(pending()), right);
    let asks = async {
        let bell = Bell::default().spawn();
        bell.hang().without_limit().ask().await.unwrap();
    };
    assert_eq!(complaint(asks), right);
}

/// A clock that ticks for ever keeps the runtime busy, but a body that waits beside it is still
/// stuck.
#[test]
fn a_body_that_waits_beside_a_clock_ends_too() {
    let waits = async {
        let ticks = tokio::spawn(async {
            let mut clock = interval(HOUR);
            loop {
                clock.tick().await;
            }
        });
        ticks.await.unwrap();
    };
    assert!(complaint(waits).starts_with("nothing can go on"));
}

#[test]
fn a_program_that_ends_in_time_is_left_alone() {
    testing::run(3, sleep_almost_all());
}

async fn sleep_almost_all() {
    sleep(VIRTUAL_TIME_MAX - HOUR).await;
}
