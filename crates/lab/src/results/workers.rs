//! The share of each worker of a server: whether its threads carry the same load.
//!
//! A program has threads beside its workers: one that accepts, one that collects garbage, one that
//! compiles. They take little, so a thread counts as a worker from a share of the busiest one's
//! time on. A worker that does nothing is none; the shares show that too, for then one is missing.

use crate::results::{Run, ThreadShare};

/// A thread with less than this share of what the busiest one took is no worker.
const WORKER_SHARE_MIN: f64 = 0.1;
/// Shares that are shown; the others are summed up.
const SHOWN_MAX: usize = 8;

/// The workers of a run, the busiest first: the document has its threads in this order.
fn workers(run: &Run) -> impl Iterator<Item = &ThreadShare> {
    let busiest = run.threads.iter().map(|thread| thread.cpu_seconds).fold(0.0, f64::max);
    let does_work = move |thread: &&ThreadShare| {
        thread.cpu_seconds > 0.0 && thread.cpu_seconds >= WORKER_SHARE_MIN * busiest
    };
    run.threads.iter().filter(does_work)
}

/// The time of the busiest worker, divided by the mean of all; `None` of no threads.
pub fn busiest_to_mean(run: &Run) -> Option<f64> {
    let times: Vec<f64> = workers(run).map(|thread| thread.cpu_seconds).collect();
    let busiest = times.iter().copied().reduce(f64::max)?;
    Some(busiest * times.len() as f64 / times.iter().sum::<f64>())
}

/// Shares of the program's processor time in per cent, such as `51 + 47`; `None` of no threads.
pub fn shares(run: &Run) -> Option<String> {
    let share = |time: f64| format!("{:.0}", 100.0 * time / run.cpu_seconds.max(1e-9));
    let times: Vec<f64> = workers(run).map(|thread| thread.cpu_seconds).collect();
    let shown =
        times.iter().take(SHOWN_MAX).map(|time| share(*time)).collect::<Vec<_>>().join(" + ");
    match times.len() {
        0 => None,
        1..=SHOWN_MAX => Some(shown),
        count => Some(format!("{shown} + {} more", count - SHOWN_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RICH: &str = include_str!("../../tests/fixtures/lab-1.json");

    fn run(times: &[f64]) -> Run {
        let results: crate::results::Results = serde_json::from_str(RICH).unwrap();
        let mut run = results.rows.into_iter().flat_map(|row| row.runs).next().unwrap();
        let thread = |time: &f64| ThreadShare {
            name: "worker".to_owned(),
            cpu_seconds: *time,
            side: None,
            over_time: Vec::new(),
        };
        run.threads = times.iter().map(thread).collect();
        run.cpu_seconds = times.iter().sum();
        run
    }

    #[test]
    fn the_busiest_worker_is_held_against_the_mean_of_all() {
        assert_eq!(busiest_to_mean(&run(&[3.0, 1.0])), Some(1.5));
        assert_eq!(busiest_to_mean(&run(&[2.0, 2.0, 2.0])), Some(1.0));
        assert_eq!(shares(&run(&[3.0, 1.0])).unwrap(), "75 + 25");
        assert_eq!((busiest_to_mean(&run(&[])), shares(&run(&[]))), (None, None));
    }

    #[test]
    fn a_thread_that_took_little_is_no_worker_and_a_lone_worker_shows_as_one() {
        assert_eq!(busiest_to_mean(&run(&[2.0, 2.0, 0.19])), Some(1.0));
        assert_eq!(shares(&run(&[98.0, 2.0])).unwrap(), "98");
    }

    #[test]
    fn many_workers_are_summed_up() {
        assert_eq!(
            shares(&run(&[1.0; 10])).unwrap(),
            "10 + 10 + 10 + 10 + 10 + 10 + 10 + 10 + 2 more"
        );
    }
}
