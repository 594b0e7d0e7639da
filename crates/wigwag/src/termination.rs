//! The end of `#[wigwag::main]`: an error is printed for its reader.
//!
//! Rust prints the error of `main` in its form `{:?}`, which is made for programmers. An error with
//! a form for people is printed in that one. The macro does not know which forms the type has, so
//! the compiler chooses between the two traits: a method of `MainEnd` itself is found before one of
//! a reference to it.

use std::fmt::Display;
use std::marker::PhantomData;
use std::process::{ExitCode, Termination};

/// Stands for the type that `main` returns.
pub struct MainEnd<T>(PhantomData<fn(T)>);

impl<T> MainEnd<T> {
    /// The type of `outcome`.
    pub fn of(_outcome: &T) -> MainEnd<T> {
        MainEnd(PhantomData)
    }
}

/// Reports an error that has `Display`.
pub trait ReportDisplay<T> {
    /// Prints the error, with its hint if it has one, and returns the exit code.
    fn report(&self, outcome: T) -> ExitCode;
}

impl<V: Termination, E: Display> ReportDisplay<Result<V, E>> for MainEnd<Result<V, E>> {
    fn report(&self, outcome: Result<V, E>) -> ExitCode {
        match outcome {
            Ok(value) => value.report(),
            Err(error) => {
                // The reader of a closed standard error misses it, which is no reason to panic.
                let _ = std::io::Write::write_fmt(
                    &mut std::io::stderr(),
                    format_args!("Error: {error:#}\n"),
                );
                ExitCode::FAILURE
            }
        }
    }
}

/// Reports whatever else `main` may return.
pub trait ReportDebug<T> {
    /// Does what Rust does.
    fn report(&self, outcome: T) -> ExitCode;
}

impl<T: Termination> ReportDebug<T> for &MainEnd<T> {
    fn report(&self, outcome: T) -> ExitCode {
        outcome.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct OnlyDebug;

    /// As the macro writes it.
    macro_rules! report {
        ($outcome:expr) => {{
            let outcome = $outcome;
            (&MainEnd::of(&outcome)).report(outcome)
        }};
    }

    #[test]
    fn every_result_that_main_may_return_is_reported() {
        let bad: Result<(), OnlyDebug> = Err(OnlyDebug);
        assert_eq!(report!(bad), ExitCode::FAILURE);
        let bad: Result<ExitCode, String> = Err("no".to_owned());
        assert_eq!(report!(bad), ExitCode::FAILURE);
        let good: Result<ExitCode, String> = Ok(ExitCode::from(7));
        assert_eq!(report!(good), ExitCode::from(7));
        let good: Result<(), OnlyDebug> = Ok(());
        assert_eq!(report!(good), ExitCode::SUCCESS);
        assert_eq!(report!(ExitCode::from(9)), ExitCode::from(9));
    }
}
