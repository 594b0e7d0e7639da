//! What a process has cost so far: processor time and memory, from `/proc`. Linux only.
//!
//! Two sources of processor time, each with a flaw. `/proc/PID/stat` covers all threads, the
//! ended ones too, but counts whole ticks (10 ms as a rule). `/proc/PID/task/*/schedstat` counts
//! nanoseconds, but only of threads that still live. Neither ever says too much, so the larger one
//! is the better one, and it is what we report.

use std::{fs, io, time::Duration};

use serde::{Deserialize, Serialize};

/// What a process has cost since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time of all threads, user and system. Differences are good to one or two ticks,
    /// so a window of one second to about two per cent.
    pub cpu: Duration,
    /// Memory now resident. The kernel counts it per processor and adds up in batches, so both
    /// figures of memory are good to some hundred KiB.
    pub rss_bytes: u64,
    /// The most memory that was ever resident.
    pub peak_rss_bytes: u64,
}

impl Usage {
    /// Reads what the process `pid` has cost.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        Self::at(&format!("/proc/{pid}"))
    }

    /// Reads what this process has cost.
    pub fn of_self() -> io::Result<Self> {
        Self::at("/proc/self")
    }

    /// Processor time since `earlier`, a reading of the same process.
    pub fn cpu_since(&self, earlier: &Self) -> Duration {
        self.cpu.saturating_sub(earlier.cpu)
    }

    fn at(folder: &str) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("{folder}/stat"))?;
        let ticks = parse_stat(&stat).ok_or_else(|| unreadable("stat"))?;
        let ticked =
            Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / ticks_per_second()?));

        let status = fs::read_to_string(format!("{folder}/status"))?;
        Ok(Self {
            cpu: ticked.max(living_threads(folder)),
            rss_bytes: parse_memory(&status, "VmRSS:").ok_or_else(|| unreadable("VmRSS"))?,
            peak_rss_bytes: parse_memory(&status, "VmHWM:").ok_or_else(|| unreadable("VmHWM"))?,
        })
    }
}

/// Time of the threads that live. A kernel built without these figures, or a thread that ends
/// while we look, counts nothing: the ticks are there as well.
fn living_threads(folder: &str) -> Duration {
    let threads = fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten();
    let time = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.filter_map(time).sum())
}

/// User and system time in ticks: the 14th and 15th field. The second one is the command's name
/// in brackets, which may itself hold spaces and brackets; so we count from the last bracket.
fn parse_stat(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

/// A line such as `VmHWM:     6844 kB`, in bytes.
fn parse_memory(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

/// The kernel tells every program the rate in its auxiliary vector, pairs of words of which the
/// one named 17 is the rate. It is where the C library takes it from.
fn ticks_per_second() -> io::Result<u64> {
    const AT_CLKTCK: usize = 17;
    const WORD: usize = size_of::<usize>();
    let vector = fs::read("/proc/self/auxv")?;
    let (words, _) = vector.as_chunks::<WORD>();
    let (pairs, _) = words.as_chunks::<2>();
    let rate = pairs
        .iter()
        .map(|pair| pair.map(usize::from_ne_bytes))
        .find_map(|[name, value]| (name == AT_CLKTCK).then_some(value as u64));
    rate.filter(|rate| (1..=1_000_000_000).contains(rate)).ok_or_else(|| unreadable("auxv"))
}

fn unreadable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} of a process is not as expected"))
}

#[cfg(test)]
mod tests {
    use std::{
        hint::black_box,
        process::{Command, Stdio},
        thread,
        time::Instant,
    };

    use super::*;

    fn burn(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            black_box((0..1_000_u64).sum::<u64>());
        }
    }

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let stat = "6465 (a ) b) R 6460 6460 3394 0 -1 4194304 101 0 0 0 31 11 7 7 20 0 1 0 115431";
        assert_eq!(parse_stat(stat), Some(42));
        assert_eq!(parse_stat("6465 (a"), None);
    }

    #[test]
    fn memory_is_given_in_bytes() {
        let status = "VmPeak:\t  9000 kB\nVmHWM:\t    6844 kB\n";
        assert_eq!(parse_memory(status, "VmHWM:"), Some(6_844 * 1_024));
        assert_eq!(parse_memory(status, "VmRSS:"), None);
    }

    #[test]
    fn the_time_of_a_thread_that_has_ended_is_not_forgotten() {
        let before = Usage::of_self().unwrap();
        thread::spawn(|| burn(Duration::from_millis(200))).join().unwrap();
        let spent = Usage::of_self().unwrap().cpu_since(&before);
        // Less than 200, for a loaded machine gives the thread only a share of its time.
        assert!(spent >= Duration::from_millis(40), "{spent:?}");
    }

    #[test]
    fn memory_that_was_touched_is_seen_and_its_peak_kept() {
        let before = Usage::of_self().unwrap();
        let block = black_box(vec![1_u8; 32 << 20]);
        let during = Usage::of_self().unwrap();
        drop(block);
        let after = Usage::of_self().unwrap();
        assert!(during.rss_bytes >= before.rss_bytes + (24 << 20));
        assert!(after.peak_rss_bytes >= before.rss_bytes + (24 << 20));
    }

    #[test]
    fn another_process_is_read_by_its_number_and_a_missing_one_is_an_error() {
        let mut child = Command::new("sleep").arg("10").stdin(Stdio::null()).spawn().unwrap();
        let usage = Usage::of_process(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(usage.peak_rss_bytes > 0 && usage.cpu < Duration::from_secs(5));
        assert!(Usage::of_process(child.id()).is_err());
    }
}
