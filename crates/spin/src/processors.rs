//! Whether the processors of this machine are busy, and what this process took of them.
//!
//! While more threads can run than there are processors, a wait that spins takes its processor
//! from one of them, which may be the other side. The kernel tells how many threads can run at the
//! moment. One look says little, since those of both sides are among them and come and go;
//! so the last eight decide.
//!
//! Tried and dropped: the involuntary context switches of this process. Beside two busy loops there
//! are 0.1 to 0.3 of them a wait, and 0.4 to 0.9 without, where threads of one runtime preempt each
//! other.

use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Time between two looks. A look takes 8 µs, or 20 µs on a busy machine, so all of them take 0.2 %
/// of a processor at most, and eight take 80 ms.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Of eight looks, those that must see too many threads before the machine counts as busy, and
/// those that may see them when it no longer does. Of a lone round trip one look in ten
/// sees too many; beside as many busy threads as there are processors nearly all do.
const BUSY_LOOKS_MIN: u32 = 6;
const CALM_LOOKS_MAX: u32 = 3;

/// The last eight looks, and what they mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Looks {
    /// One bit for each look, set if there were too many threads.
    crowded: u32,
    busy: bool,
}

impl Looks {
    fn after(self, crowded: bool) -> Looks {
        let crowded = (self.crowded << 1 | u32::from(crowded)) & 0xff;
        let least = if self.busy { CALM_LOOKS_MAX + 1 } else { BUSY_LOOKS_MIN };
        Looks { crowded, busy: crowded.count_ones() >= least }
    }
}

/// The looks of this process, which all its waits share.
#[derive(Debug)]
struct Processors {
    began: Instant,
    /// When the next look is due, in microseconds since `began`.
    due_us: AtomicU64,
    /// The bits of [`Looks`].
    crowded: AtomicU32,
    /// 1 while the machine is busy.
    busy: AtomicU32,
}

fn shared() -> &'static Processors {
    static SHARED: OnceLock<Processors> = OnceLock::new();
    SHARED.get_or_init(|| Processors {
        began: Instant::now(),
        due_us: AtomicU64::new(0),
        crowded: AtomicU32::new(0),
        busy: AtomicU32::new(0),
    })
}

/// True if more threads could run lately than there are processors. Looks again if the last look
/// is a while ago.
pub(crate) fn are_busy(now: Instant) -> bool {
    let shared = shared();
    // Relaxed, all of them: whoever sees an older value decides as it would have a moment ago.
    let us = u64::try_from(now.saturating_duration_since(shared.began).as_micros()).unwrap_or(0);
    let due = shared.due_us.load(Ordering::Relaxed);
    let next = us + u64::try_from(LOOK_EVERY.as_micros()).unwrap_or(0);
    let is_mine = us >= due
        && shared.due_us.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let before = Looks {
        crowded: shared.crowded.load(Ordering::Relaxed),
        busy: shared.busy.load(Ordering::Relaxed) == 1,
    };
    if !is_mine {
        return before.busy;
    }
    let after = before.after(is_crowded());
    shared.crowded.store(after.crowded, Ordering::Relaxed);
    shared.busy.store(u32::from(after.busy), Ordering::Relaxed);
    after.busy
}

/// True if more threads can run than there are processors. Without an answer of the kernel, false.
fn is_crowded() -> bool {
    static PROCESSORS: OnceLock<u64> = OnceLock::new();
    let processors = *PROCESSORS.get_or_init(|| {
        std::thread::available_parallelism().map_or(u64::MAX, |it| it.get() as u64)
    });
    // Longer than the line ever is; a message must not allocate because of a look.
    let mut line = [0; 128];
    let read = File::open("/proc/loadavg").and_then(|mut file| file.read(&mut line));
    let load = std::str::from_utf8(&line[..read.unwrap_or(0)]).unwrap_or_default();
    runnable(load).is_some_and(|runnable| runnable > processors)
}

/// The threads that can run, of `/proc/loadavg`: `0.62 1.21 2.12 3/115 3022` has three.
fn runnable(load: &str) -> Option<u64> {
    load.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// The processor time of this process, all threads together.
pub(crate) fn own_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let [seconds, nanoseconds] =
        [spent.tv_sec, spent.tv_nsec].map(|it| u64::try_from(it).unwrap_or(0));
    Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the machine is busy after each look.
    fn after(looks: &str) -> String {
        let mut last = Looks::default();
        let one = |look| {
            last = last.after(look == '#');
            if last.busy { 'b' } else { '.' }
        };
        looks.chars().map(one).collect()
    }

    #[test]
    fn six_of_eight_looks_make_a_machine_busy_and_three_make_it_calm() {
        assert_eq!(after("########"), ".....bbb");
        assert_eq!(after("##-##-##"), ".......b");
        assert_eq!(after("#---#---#---#---#-#-#-#-"), "........................");
        assert_eq!(after("########-----###---"), ".....bbbbbbb.......");
        assert_eq!(after("########----#-#-#-#-"), ".....bbbbbbbb.......");
    }

    #[test]
    fn the_threads_that_can_run_are_found_in_the_kernels_line() {
        assert_eq!(runnable("0.62 1.21 2.12 3/115 3022\n"), Some(3));
        for bad in ["", "0.62 1.21 2.12", "0.62 1.21 2.12 3 3022", "a b c x/1 2"] {
            assert_eq!(runnable(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_thread_that_works_counts_in_the_time_of_its_process() {
        let before = own_time();
        let work = move || {
            while own_time().saturating_sub(before) < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
        };
        std::thread::spawn(work).join().expect("it works");
        assert!(own_time() - before >= Duration::from_millis(2));
    }

    /// The machine is busy when there are as many busy threads as processors, beside the one that looks.
    #[test]
    fn threads_that_take_all_processors_are_noticed() {
        let stop = AtomicU32::new(0);
        let busy = || {
            while stop.load(Ordering::Relaxed) == 0 {
                std::hint::spin_loop();
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, |it| it.get());
        std::thread::scope(|scope| {
            (0..processors + 1).for_each(|_| drop(scope.spawn(busy)));
            let began = Instant::now();
            while !are_busy(Instant::now()) && began.elapsed() < Duration::from_secs(30) {
                std::thread::yield_now();
            }
            let found = are_busy(Instant::now());
            stop.store(1, Ordering::Relaxed);
            assert!(found);
        });
    }
}
