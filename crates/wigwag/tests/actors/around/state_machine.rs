//! State machines: timers of a state end with it, and calls that wait for another state come back.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use wigwag::{Actor, Responder, This, lifecycle::Alive, state_machine::StateMachine};

const OPEN_FOR: Duration = Duration::from_secs(10);
const CODE: &str = "1234";

/// A lock with a code: the right code opens it for a while.
#[derive(Default)]
struct Lock {
    state: StateMachine<State>,
    /// The events so far: `+` opened, `-` closed by itself, a digit for a call that passed.
    diary: String,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    /// Part of the code has been entered.
    Typing(String),
    Open,
}

#[wigwag::actor]
impl Lock {
    pub fn press(&mut self, this: &This<Self>, digit: &str) {
        let mut typed = match &mut *self.state {
            State::Closed => String::new(),
            State::Typing(typed) => std::mem::take(typed),
            State::Open => return,
        };
        typed.push_str(digit);
        let (state, limit) = match typed.len() {
            4 if typed == CODE => {
                self.diary.push('+');
                (State::Open, Some(OPEN_FOR))
            }
            4 => (State::Closed, None),
            _ => (State::Typing(typed), Some(OPEN_FOR / 2)),
        };
        self.state.go(this, state);
        if let Some(limit) = limit {
            self.state.limit(this, limit, |me| me.close()).unwrap();
        }
    }

    pub fn close(&mut self, this: &This<Self>) {
        self.diary.push('-');
        self.state.go(this, State::Closed);
    }

    /// Passes when the lock is open.
    pub fn pass(&mut self, this: &This<Self>, answer: Responder<u64>, number: u64) {
        match *self.state {
            State::Open => {
                self.diary.push_str(&number.to_string());
                answer.send(number);
            }
            _ => this.stash(answer, |me| me.pass(number)).unwrap(),
        }
    }

    pub fn stay_as_it_is(&mut self) -> bool {
        self.state.lift_limit()
    }

    pub fn diary(&self) -> String {
        format!("{} {:?}", self.diary, self.state)
    }
}

async fn press(lock: &LockRef, digits: &str) {
    for digit in digits.split("").filter(|digit| !digit.is_empty()) {
        lock.press(digit).tell().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_state_cannot_serve_waits_for_the_next_state() {
    let lock = Lock::default().spawn();
    let first = lock.pass(1).try_ask().unwrap();
    let second = lock.pass(2).try_ask().unwrap();
    press(&lock, "1233").await;
    lock.diary().ask().await.unwrap();
    press(&lock, CODE).await;
    let newer = lock.pass(3).ask();
    assert_eq!((newer.await.unwrap(), first.await.unwrap(), second.await.unwrap()), (3, 1, 2));
    let diary = lock.diary().ask().await.unwrap();
    assert_eq!(diary, "+123 StateMachine { state: Open, limited: true }");
}

#[tokio::test(start_paused = true)]
async fn a_state_has_one_limit_and_it_ends_with_the_state() {
    let lock = Lock::default().spawn();
    let begun = Instant::now();
    press(&lock, CODE).await;
    // A limit set for one of the earlier digits would have closed the lock by now.
    sleep_until(begun + OPEN_FOR - Duration::from_millis(2)).await;
    assert_eq!(lock.diary().ask().await.unwrap(), "+ StateMachine { state: Open, limited: true }");
    sleep_until(begun + OPEN_FOR + Duration::from_millis(2)).await;
    assert_eq!(
        lock.diary().ask().await.unwrap(),
        "+- StateMachine { state: Closed, limited: false }"
    );
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_due_is_taken_back_too() {
    let lock = Lock::default().spawn();
    press(&lock, "123").await;
    lock.diary().ask().await.unwrap();
    let handle = lock.handle().unwrap();
    handle.suspend();
    // The last digit arrives before the limit is due; both wait.
    press(&lock, "4").await;
    sleep_until(Instant::now() + OPEN_FOR).await;
    handle.resume();
    assert_eq!(lock.diary().ask().await.unwrap(), "+ StateMachine { state: Open, limited: true }");
    assert!(lock.stay_as_it_is().ask().await.unwrap());
    sleep_until(Instant::now() + 10 * OPEN_FOR).await;
    assert_eq!(lock.diary().ask().await.unwrap(), "+ StateMachine { state: Open, limited: false }");
}
