//! Running one test under many seeds, and again under the seed that failed.

use std::env::{self, VarError};
use std::future::Future;

use super::run;

/// The environment variable with the one seed that [`seeds`] is to run.
pub const SEED_VARIABLE: &str = "WIGWAG_SEED";

/// [Runs](run) the future that `body` creates for each seed, one after the other. With
/// [`SEED_VARIABLE`] set, only that seed is run, whether or not it is one of `all`.
///
/// A panic is passed on to the caller. Before that, a note on standard error names the seed and how
/// to run it alone.
///
/// ```
/// use wigwag_actor::testing;
///
/// testing::seeds(0..20, |_seed| async {
///     tokio::task::yield_now().await;
/// });
/// ```
///
/// # Panics
/// When `body` panics; when [`run`] does; when [`SEED_VARIABLE`] is set to a value that is no seed;
/// and when there is no seed to run, because such a test would show nothing.
#[track_caller]
pub fn seeds<F>(all: impl IntoIterator<Item = u64>, mut body: impl FnMut(u64) -> F)
where
    F: Future<Output = ()>,
{
    if let Some(seed) = wanted(env::var(SEED_VARIABLE)) {
        return one(seed, &mut body);
    }
    let mut count = 0_u64;
    for seed in all {
        one(seed, &mut body);
        count += 1;
    }
    assert!(count > 0, "there is no seed to run");
}

#[track_caller]
fn one<F: Future<Output = ()>>(seed: u64, body: &mut impl FnMut(u64) -> F) {
    let _replay = Replay(seed);
    run(seed, body(seed));
}

/// The one seed that the variable requests.
#[track_caller]
fn wanted(variable: Result<String, VarError>) -> Option<u64> {
    let value = match variable {
        Err(VarError::NotPresent) => return None,
        Err(VarError::NotUnicode(value)) => value.to_string_lossy().into_owned(),
        Ok(value) => value,
    };
    let Ok(seed) = value.parse() else {
        panic!("{SEED_VARIABLE} is {value:?}, and a seed is a number from 0 to {}", u64::MAX);
    };
    Some(seed)
}

/// Dropped by a panic, it prints how to run this seed alone.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let thread = std::thread::current();
            eprintln!("{}", replay(self.0, thread.name()));
        }
    }
}

/// The note for a failed seed. The harness gives the thread of each test the name of the test.
fn replay(seed: u64, thread: Option<&str>) -> String {
    let again = match thread {
        Some(test) if test != "main" => format!("{SEED_VARIABLE}={seed} cargo test {test}"),
        _ => format!("{SEED_VARIABLE}={seed} in the environment"),
    };
    format!("it failed with seed {seed}; that one alone: {again}")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::panic::catch_unwind;

    use super::*;

    fn complaint(variable: Result<String, VarError>) -> String {
        let payload = catch_unwind(|| wanted(variable)).expect_err("it is no seed");
        payload.downcast_ref::<String>().expect("it has a text").clone()
    }

    #[test]
    fn the_variable_is_a_seed_or_away() {
        assert_eq!(wanted(Err(VarError::NotPresent)), None);
        assert_eq!(wanted(Ok("0".into())), Some(0));
        assert_eq!(wanted(Ok(u64::MAX.to_string())), Some(u64::MAX));
    }

    #[test]
    fn an_invalid_seed_is_reported_and_not_ignored() {
        let most = u64::MAX;
        for wrong in ["", "x", "-1", " 7", "18446744073709551616"] {
            let right =
                format!("WIGWAG_SEED is {wrong:?}, and a seed is a number from 0 to {most}");
            assert_eq!(complaint(Ok(wrong.into())), right);
        }
        let bytes = OsString::from_vec(vec![b'7', 0xFF]);
        assert!(complaint(Err(VarError::NotUnicode(bytes))).starts_with("WIGWAG_SEED is \"7"));
    }

    #[test]
    fn the_hint_is_a_command_where_the_test_has_a_name() {
        let said = replay(7, Some("orders::arrive"));
        let right = "it failed with seed 7; that one alone: \
                     WIGWAG_SEED=7 cargo test orders::arrive";
        assert_eq!(said, right);
        for nameless in [None, Some("main")] {
            assert!(replay(7, nameless).ends_with("WIGWAG_SEED=7 in the environment"));
        }
    }
}
