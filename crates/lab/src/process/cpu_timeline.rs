//! The course of a window: which thread took how much of a processor, stretch by stretch.
//!
//! A sum says what a window has cost; the course says whether one thread worked all the time or
//! two took turns, and whether somebody stopped in the middle. However long the window is there are
//! [`STRETCHES_MAX`] stretches of one length: when there would be more, every two become one.

use std::collections::BTreeMap;
use std::time::Instant;

/// Stretches, at most; as many as a small plot can show.
pub const STRETCHES_MAX: usize = 60;
/// Threads that are followed, so that a program which starts one for each message costs no more
/// memory than others. Those beyond are in the sums alone.
const THREADS_MAX: usize = 512;

/// Process and thread.
type Id = (u32, u32);

/// Processor time by thread, moment by moment.
#[derive(Debug)]
pub(crate) struct CpuTimeline {
    began: Instant,
    /// Seconds since the beginning; the first is the beginning.
    moments: Vec<f64>,
    /// Seconds of processor time at each of the moments.
    spent: BTreeMap<Id, Vec<f64>>,
    /// One of so many samples is a moment.
    stride: usize,
    seen: usize,
}

impl CpuTimeline {
    /// The window begins, when `threads` have spent so much.
    pub(crate) fn new(now: Instant, threads: impl Iterator<Item = (Id, f64)>) -> CpuTimeline {
        let (moments, spent) = (Vec::new(), BTreeMap::new());
        let mut course = CpuTimeline { began: now, moments, spent, stride: 1, seen: 0 };
        course.push(now, threads);
        course
    }

    /// Takes the processor time that the threads have spent by now.
    pub(crate) fn take(&mut self, now: Instant, threads: impl Iterator<Item = (Id, f64)>) {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.stride) {
            return;
        }
        // The end of the window is a moment too, which comes last.
        if self.moments.len() == STRETCHES_MAX {
            every_second(&mut self.moments);
            self.spent.values_mut().for_each(every_second);
            self.stride *= 2;
        }
        self.push(now, threads);
    }

    /// The window ends. A last stretch that is less than half of the others becomes part of the
    /// one before it, because so short a time is counted badly.
    pub(crate) fn end(&mut self, now: Instant, threads: impl Iterator<Item = (Id, f64)>) {
        let at = now.duration_since(self.began).as_secs_f64();
        let last = self.moments.len() - 1;
        if last > 0 && at - self.moments[last] < self.moments[last] / last as f64 / 2.0 {
            self.moments.pop();
            self.spent.values_mut().for_each(|spent| spent.truncate(last));
        }
        self.push(now, threads);
    }

    /// The ends of the stretches in seconds.
    pub(crate) fn ends(&self) -> Vec<f64> {
        self.moments.iter().skip(1).map(|end| thousandths(*end)).collect()
    }

    /// The share of a processor that a thread took in each stretch; empty if it was not followed.
    pub(crate) fn of(&self, id: Id) -> Vec<f64> {
        let Some(spent) = self.spent.get(&id) else { return Vec::new() };
        let stretches = self.moments.windows(2).zip(spent.windows(2));
        let share = |(time, spent): (&[f64], &[f64])| (spent[1] - spent[0]) / (time[1] - time[0]);
        // The kernel counts by ticks, so a short stretch may hold more than there was.
        stretches.map(|stretch| thousandths(share(stretch).clamp(0.0, 1.0))).collect()
    }

    fn push(&mut self, now: Instant, threads: impl Iterator<Item = (Id, f64)>) {
        let before = self.moments.len();
        for (id, cpu) in threads {
            if self.spent.len() >= THREADS_MAX && !self.spent.contains_key(&id) {
                continue;
            }
            // A thread that was not there yet had spent nothing.
            let spent = self.spent.entry(id).or_insert_with(|| vec![0.0; before]);
            spent.push(cpu);
        }
        self.moments.push(now.duration_since(self.began).as_secs_f64());
    }
}

fn every_second(list: &mut Vec<f64>) {
    let mut index = 0;
    list.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

/// More digits would only make the document longer.
fn thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const STEP: Duration = Duration::from_millis(50);

    /// A thread that works and one that begins in the middle, seen `steps` times.
    fn course(steps: u32) -> CpuTimeline {
        let began = Instant::now();
        let spent = |step: u32| {
            let late = step.checked_sub(steps / 2).map(|since| ((1, 2), f64::from(since) * 0.025));
            [((1, 1), 3.0 + f64::from(step) * 0.05)].into_iter().chain(late)
        };
        let mut course = CpuTimeline::new(began, spent(0));
        (1..steps).for_each(|step| course.take(began + STEP * step, spent(step)));
        course.end(began + STEP * steps, spent(steps));
        course
    }

    #[test]
    fn each_thread_has_its_share_of_each_stretch() {
        let course = course(10);
        assert_eq!(course.ends(), [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]);
        assert_eq!(course.of((1, 1)), [1.0; 10]);
        let late = course.of((1, 2));
        assert_eq!((&late[..5], &late[5..]), (&[0.0; 5][..], &[0.5; 5][..]));
        assert!(course.of((9, 9)).is_empty());
    }

    #[test]
    fn a_long_window_has_few_stretches_of_one_length() {
        for steps in [59, 60, 61, 119, 120, 121, 1_000, 6_001] {
            let course = course(steps);
            let ends = course.ends();
            assert!((STRETCHES_MAX / 2 - 1..=STRETCHES_MAX).contains(&ends.len()), "{steps}");
            assert!((ends[ends.len() - 1] - f64::from(steps) * 0.05).abs() < 1e-6, "{steps}");
            let first = ends[0];
            for pair in ends[..ends.len() - 1].windows(2) {
                assert!((pair[1] - pair[0] - first).abs() < 0.002, "{steps}: {ends:?}");
            }
            assert_eq!(course.of((1, 1)), vec![1.0; ends.len()], "{steps}");
            assert_eq!(course.of((1, 2)).len(), ends.len(), "{steps}");
        }
    }

    #[test]
    fn a_crumb_at_the_end_belongs_to_the_stretch_before() {
        let began = Instant::now();
        let spent = |cpu| [((1, 1), cpu)].into_iter();
        let mut course = CpuTimeline::new(began, spent(0.0));
        course.take(began + STEP, spent(0.05));
        course.take(began + STEP * 2, spent(0.1));
        course.end(began + STEP * 2 + STEP / 5, spent(0.1));
        assert_eq!(course.ends(), [0.05, 0.11]);
        assert_eq!(course.of((1, 1)), [1.0, 0.833]);
    }

    #[test]
    fn more_threads_than_are_followed_are_no_more_memory() {
        let began = Instant::now();
        let many = |count: u32| (0..count).map(|thread| ((1, thread), 1.0));
        let mut course = CpuTimeline::new(began, many(10));
        course.end(began + STEP, many(2_000));
        assert_eq!(course.spent.len(), THREADS_MAX);
        assert!(course.of((1, 1_999)).is_empty() && course.of((1, 9)).len() == 1);
    }
}
