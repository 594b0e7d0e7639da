//! A race that the usual order hides, and the way from it to a seed that reproduces it.

use std::panic::catch_unwind;
use std::process::Command;

use wigwag::Actor;
use wigwag::testing::{self, SEED_VARIABLE};

#[derive(Default)]
struct Seat {
    taken_by: Option<u32>,
}

#[wigwag::actor]
impl Seat {
    pub fn is_free(&self) -> bool {
        self.taken_by.is_none()
    }

    /// Assumes that the guest has looked first: that is the mistake.
    pub fn take(&mut self, guest: u32) {
        assert!(self.taken_by.is_none(), "guest {guest} sits on another one");
        self.taken_by = Some(guest);
    }
}

struct Guest {
    number: u32,
    seat: SeatRef,
}

#[wigwag::actor]
impl Guest {
    /// True when the guest has the seat.
    pub async fn come(&mut self) -> bool {
        let is_free = self.seat.is_free().ask().await.unwrap();
        if is_free {
            self.seat.take(self.number).ask().await.unwrap();
        }
        is_free
    }
}

/// The first guest is told to come first, and in first-come order takes the seat before the second
/// guest looks.
async fn two_guests_come() {
    let seat = Seat::default().spawn();
    let guests = [1, 2].map(|number| Guest { number, seat: seat.clone() }.spawn());
    let first = guests[0].come().try_ask().unwrap();
    tokio::task::yield_now().await;
    let second = guests[1].come().try_ask().unwrap();
    let came = [first.await.unwrap(), second.await.unwrap()];
    assert!(came == [true, false] || came == [false, true], "{came:?}");
}

fn fails(seed: u64) -> bool {
    catch_unwind(|| testing::run(seed, two_guests_come())).is_err()
}

#[tokio::test]
async fn the_race_does_not_show_in_the_usual_order() {
    for _ in 0..100 {
        two_guests_come().await;
    }
}

#[test]
fn a_race_is_found_within_some_seeds_and_each_of_them_shows_it_again() {
    let found: Vec<u64> = (0..64).filter(|seed| fails(*seed)).collect();
    assert!(!found.is_empty() && found.len() < 64, "{found:?}");
    assert!(found.iter().all(|seed| fails(*seed)), "{found:?}");
}

/// The number of seeds that the child process runs.
const CHILD_SEEDS: &str = "WIGWAG_TEST_CHILD_SEEDS";

/// The name of the test that the child process runs.
const CHILD: &str = "testing::race::seeds_for_a_child";

/// The next test runs this one in a child process; without the variable it does nothing.
#[test]
fn seeds_for_a_child() {
    let Ok(count) = std::env::var(CHILD_SEEDS) else { return };
    testing::seeds(0..count.parse().unwrap(), |_| two_guests_come());
}

/// The child's standard error with the given seed, or with `count` seeds; `None` when the child
/// passes.
fn child(seed: Option<&str>, count: u64) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", CHILD, "--nocapture"]);
    command.env(CHILD_SEEDS, count.to_string()).env_remove(SEED_VARIABLE);
    command.envs(seed.map(|seed| (SEED_VARIABLE, seed)));
    let output = command.output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_failure_says_its_seed_and_the_variable_runs_that_one_alone() {
    let first = (0..64).find(|seed| fails(*seed)).unwrap().to_string();
    let hint = format!("WIGWAG_SEED={first} cargo test {CHILD}");
    let all = child(None, 64).expect("one of them fails");
    assert!(all.contains(&hint), "{all}");

    let alone = child(Some(&first), 64).expect("it fails again");
    assert!(alone.contains(&hint), "{alone}");

    // A seed beyond those that the test names: it alone is run.
    let beyond = (64..).find(|seed| !fails(*seed)).unwrap().to_string();
    assert_eq!(child(Some(&beyond), 64), None);

    let wrong = child(Some("seven"), 64).expect("it is no seed");
    assert!(wrong.contains("WIGWAG_SEED is \"seven\", and a seed is a number"), "{wrong}");

    let none = child(None, 0).expect("it shows nothing");
    assert!(none.contains("there is no seed to run"), "{none}");
}
