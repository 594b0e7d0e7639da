//! The cost of a participant's processes: processor time, memory, threads, switches.
//!
//! A participant may be one process or many, so everything that descends from the started one
//! counts, and so does what belongs to its process group after its parent has gone. Processor time
//! of a process is its own and that of the children it has waited for, so a process that ends early
//! is not forgotten, and one that was seen before it ended is not counted twice. Linux only, from
//! `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::process::cpu_timeline::CpuTimeline;
use crate::process::proc_files::{ProcStat, all, memory_peak};
use crate::process::program::MARK;
use crate::results::ThreadShare;

/// Every so many samples the whole of `/proc` is searched for new processes.
const SEARCH_EVERY: u32 = 4;

/// A tree of processes: feed it samples and ask for the cost of a window.
#[derive(Debug)]
pub struct ProcessTree {
    root: u32,
    /// A value that every process that it has started inherits, wherever it went.
    mark: Option<String>,
    /// Known by their mark alone.
    hidden: BTreeSet<u32>,
    known: BTreeSet<u32>,
    samples: u32,
    now: Snapshot,
    base: Snapshot,
    /// From [`begin`](Self::begin) on.
    course: Option<CpuTimeline>,
    peak_rss_bytes: u64,
    /// The peak when the window began.
    base_rss_bytes: u64,
    threads_max: u64,
}

/// Counters that only grow.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    processes: BTreeMap<u32, ProcessCounters>,
    threads: BTreeMap<(u32, u32), ThreadCounters>,
}

/// A process as it was last seen.
#[derive(Clone, Debug, Default)]
struct ProcessCounters {
    parent: u32,
    /// Seconds of processor time, without those of its children.
    own: f64,
    /// Seconds of the children that it has waited for.
    waited_for: f64,
    /// It has ended and its entry is gone: its parent has waited for it, or nobody will.
    gone: bool,
}

#[derive(Clone, Debug, Default)]
struct ThreadCounters {
    name: String,
    cpu: f64,
    /// Times that it was put on a processor.
    turns: u64,
}

/// The cost of a window.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// The sum of the peaks of the processes.
    pub peak_rss_bytes: u64,
    /// By how much it grew in the window; `None` when the root had ended before it was looked at.
    pub grown_bytes: Option<u64>,
    /// The most threads at once.
    pub threads_max: u64,
    /// How often a thread was put on a processor.
    pub switches: u64,
    /// By thread, most first.
    pub threads: Vec<ThreadShare>,
    /// Ends of the stretches that threads are followed over, in seconds.
    pub moments: Vec<f64>,
}

impl ProcessTree {
    /// The tree that grows from the process `root`, which leads its group.
    pub fn new(root: u32) -> Self {
        Self {
            root,
            mark: None,
            hidden: BTreeSet::new(),
            known: [root].into(),
            samples: 0,
            now: Snapshot::default(),
            base: Snapshot::default(),
            course: None,
            peak_rss_bytes: 0,
            base_rss_bytes: 0,
            threads_max: 0,
        }
    }

    /// A tree whose processes also inherit `mark`, as [`MARK`] says: it identifies a process that
    /// left the group and whose parent has gone.
    pub fn marked(root: u32, mark: &str) -> Self {
        Self { mark: Some(mark.to_owned()), ..Self::new(root) }
    }

    /// The window begins: what was spent until now does not count.
    pub fn begin(&mut self) {
        self.search();
        self.read();
        self.base = self.now.clone();
        self.base_rss_bytes = self.peak_rss_bytes;
        self.course = Some(CpuTimeline::new(Instant::now(), self.now.by_thread()));
        self.threads_max = 0;
    }

    /// Looks again.
    pub fn sample(&mut self) {
        self.samples += 1;
        if self.samples.is_multiple_of(SEARCH_EVERY) {
            self.search();
        }
        self.read();
        if let Some(course) = &mut self.course {
            course.take(Instant::now(), self.now.by_thread());
        }
    }

    /// The window ends: what it has cost.
    pub fn end(&mut self) -> Cost {
        self.search();
        self.read();
        if let Some(course) = &mut self.course {
            course.end(Instant::now(), self.now.by_thread());
        }
        let course = self.course.take();
        let mut threads = Vec::new();
        let (mut switches, mut in_threads) = (0, 0.0);
        for (id, thread) in &self.now.threads {
            let before = self.base.threads.get(id);
            let cpu_seconds = (thread.cpu - before.map_or(0.0, |thread| thread.cpu)).max(0.0);
            switches += thread.turns.saturating_sub(before.map_or(0, |thread| thread.turns));
            in_threads += cpu_seconds;
            let over_time = course.as_ref().map(|course| course.of(*id)).unwrap_or_default();
            let name = thread.name.clone();
            threads.push(ThreadShare { name, cpu_seconds, side: None, over_time });
        }
        // Ticks cover the threads that have ended, nanoseconds the others: neither says too much.
        let cpu_seconds = self.spent().max(in_threads);
        threads.retain(|thread| thread.cpu_seconds * 100.0 >= cpu_seconds && cpu_seconds > 0.0);
        threads.sort_by(|a, b| b.cpu_seconds.total_cmp(&a.cpu_seconds));
        let lives = memory_peak(&format!("/proc/{}", self.root)) > 0;
        let grown = self.peak_rss_bytes.saturating_sub(self.base_rss_bytes);
        Cost {
            cpu_seconds,
            peak_rss_bytes: self.peak_rss_bytes,
            grown_bytes: lives.then_some(grown),
            threads_max: self.threads_max,
            switches,
            threads,
            moments: course.map(|course| course.ends()).unwrap_or_default(),
        }
    }

    /// Seconds since [`begin`](Self::begin), by the processes.
    pub fn spent(&self) -> f64 {
        (self.now.seconds() - self.base.seconds()).max(0.0)
    }

    /// The sum of the peaks of the processes, as far as it was seen.
    pub fn peak_rss_bytes(&self) -> u64 {
        self.peak_rss_bytes
    }

    /// Seconds before [`begin`](Self::begin).
    pub fn spent_before(&self) -> f64 {
        self.base.seconds()
    }

    /// Processes that were known by their mark alone.
    pub fn hidden(&self) -> usize {
        self.hidden.len()
    }

    fn search(&mut self) {
        let stats = all();
        self.known.extend(family_among(&stats, self.root));
        let (Some(mark), Some(root)) = (&self.mark, stats.get(&self.root)) else {
            return;
        };
        // Only what is younger can descend from it; as a rule there is little of that.
        let younger = stats.iter().filter(|(pid, stat)| {
            stat.started >= root.started && !stat.is_over() && !self.known.contains(pid)
        });
        let found: Vec<u32> =
            younger.map(|(pid, _)| *pid).filter(|pid| has_mark(*pid, MARK, mark)).collect();
        self.hidden.extend(&found);
        self.known.extend(found);
    }

    /// The time of a child moves to its parent once that has waited for it. A pass in which a
    /// process has gone may have read its parent before that, so another one follows.
    fn read(&mut self) {
        while self.read_once() {}
    }

    /// True when a process has gone since the last pass.
    fn read_once(&mut self) -> bool {
        let (mut rss, mut threads, mut has_gone) = (0, 0, false);
        for pid in &self.known {
            if self.now.processes.get(pid).is_some_and(|process| process.gone) {
                continue;
            }
            let Some(stat) = ProcStat::read(*pid) else {
                self.now.processes.entry(*pid).or_default().gone = true;
                has_gone = true;
                continue;
            };
            let folder = format!("/proc/{pid}");
            let (in_threads, count) = self.now.read_threads(*pid, &folder);
            threads += count;
            let process = self.now.processes.entry(*pid).or_default();
            process.parent = stat.parent;
            process.own = process.own.max(stat.own_seconds).max(in_threads);
            process.waited_for = stat.waited_for_seconds;
            rss += memory_peak(&folder);
        }
        self.peak_rss_bytes = self.peak_rss_bytes.max(rss);
        self.threads_max = self.threads_max.max(threads);
        has_gone
    }
}

impl Snapshot {
    /// Seconds of all processes. A process that has gone is part of its parent's, if that is known
    /// too.
    fn seconds(&self) -> f64 {
        let apart = self
            .processes
            .iter()
            .filter(|(_, process)| !(process.gone && self.processes.contains_key(&process.parent)));
        apart.map(|(pid, _)| self.seconds_of(*pid)).sum()
    }

    /// Seconds of a process and of its children that have gone: those that it has waited for, or
    /// those that were seen, whichever is more. Each of the two may lack some and has none twice.
    fn seconds_of(&self, pid: u32) -> f64 {
        let Some(process) = self.processes.get(&pid) else {
            return 0.0;
        };
        let children = self.processes.iter().filter(|(_, it)| it.gone && it.parent == pid);
        let seen: f64 = children.map(|(child, _)| self.seconds_of(*child)).sum();
        process.own + process.waited_for.max(seen)
    }

    fn by_thread(&self) -> impl Iterator<Item = ((u32, u32), f64)> {
        self.threads.iter().map(|(id, thread)| (*id, thread.cpu))
    }

    /// Seconds of the threads that live, and how many they are.
    fn read_threads(&mut self, pid: u32, folder: &str) -> (f64, u64) {
        let (mut cpu, mut count) = (0.0, 0);
        for entry in fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten() {
            let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let text = fs::read_to_string(entry.path().join("schedstat")).unwrap_or_default();
            let mut words = text.split_whitespace().map_while(|word| word.parse::<u64>().ok());
            let (Some(nanoseconds), _, Some(turns)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            count += 1;
            let thread = self.threads.entry((pid, tid)).or_default();
            if thread.name.is_empty() {
                let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                thread.name = name.trim_end().to_owned();
            }
            thread.cpu = nanoseconds as f64 / 1e9;
            thread.turns = turns;
            cpu += thread.cpu;
        }
        (cpu, count)
    }
}

/// The processes that descend from `root` or are in the group that it leads, itself included.
pub fn family(root: u32) -> BTreeSet<u32> {
    family_among(&all(), root)
}

fn family_among(stats: &BTreeMap<u32, ProcStat>, root: u32) -> BTreeSet<u32> {
    let mut found: BTreeSet<u32> = [root].into();
    found.extend(stats.iter().filter(|(_, stat)| stat.group == root).map(|(pid, _)| *pid));
    // Parents come before their children as a rule, so this goes round once or twice.
    loop {
        let before = found.len();
        let children = stats.iter().filter(|(_, stat)| found.contains(&stat.parent));
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        found.extend(children);
        if found.len() == before {
            return found;
        }
    }
}

/// Processes of [`family`] that still run, without the root: a program has left them behind.
pub fn survivors(root: u32) -> Vec<u32> {
    let alive =
        |pid: &u32| *pid != root && ProcStat::read(*pid).is_some_and(|stat| !stat.is_over());
    family(root).into_iter().filter(alive).collect()
}

/// Processes that run with `name=value` in their environment.
pub fn marked(name: &str, value: &str) -> Vec<u32> {
    let stats = all().into_iter().filter(|(_, stat)| !stat.is_over());
    stats.map(|(pid, _)| pid).filter(|pid| has_mark(*pid, name, value)).collect()
}

fn has_mark(pid: u32, name: &str, value: &str) -> bool {
    let mark = format!("{name}={value}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

/// Seconds of processor time that a process took in its life, with those of the children that it
/// waited for; also of one that has ended and was not waited for yet.
pub fn spent_by(pid: u32) -> Option<f64> {
    let stat = ProcStat::read(pid)?;
    Some(stat.own_seconds + stat.waited_for_seconds)
}

/// Seconds of processor time that this process has taken, with threads that have ended.
pub fn own_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests;
