//! The files of `/proc` about each process.

use std::collections::BTreeMap;
use std::fs;

/// Ticks of processor time a second, as the kernel shows them to programs on every platform that
/// Rust has a Linux for.
pub(super) const TICKS: f64 = 100.0;

pub(super) fn all() -> BTreeMap<u32, ProcStat> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, ProcStat::read(pid)?))).collect()
}

/// The fields of `/proc/PID/stat` that we need.
pub(super) struct ProcStat {
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) own_seconds: f64,
    /// Of the children that it has waited for.
    pub(super) waited_for_seconds: f64,
    /// In ticks since the machine started.
    pub(super) started: u64,
}

impl ProcStat {
    pub(super) fn read(pid: u32) -> Option<ProcStat> {
        ProcStat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name stands in brackets and may hold any character, so fields count from its end.
    pub(super) fn parse(text: &str) -> Option<ProcStat> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        // User and system time, its own and then that of the children it has waited for.
        let seconds = |user: usize| Some((number(user)? + number(user + 1)?) as f64 / TICKS);
        Some(ProcStat {
            state: fields.first()?.chars().next()?,
            parent: number(1)? as u32,
            group: number(2)? as u32,
            own_seconds: seconds(11)?,
            waited_for_seconds: seconds(13)?,
            started: number(19)?,
        })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

pub(super) fn memory_peak(folder: &str) -> u64 {
    let status = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kibibytes.unwrap_or(0_u64) * 1_024
}
