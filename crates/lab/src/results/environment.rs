//! The environment of a run, on which its figures depend.

use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::results::Environment;

impl Environment {
    /// This machine, now.
    pub fn capture() -> Environment {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let first = |path: &str| read(path).split_whitespace().next().unwrap_or("").to_owned();
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        let kibibytes = memory.trim_end_matches("kB").trim().parse::<u64>();
        let limits = read("/proc/self/limits");
        let open_files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let open_files = open_files.and_then(|line| line.split_whitespace().next()?.parse().ok());
        Environment {
            started: now(),
            wigwag: version(option_env!("WIGWAG_COMMIT")),
            cpu: field(&read("/proc/cpuinfo"), "model name"),
            cores: thread::available_parallelism().map_or(1, usize::from),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease")),
            memory_bytes: kibibytes.unwrap_or(0) * 1_024,
            congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control"),
            open_files_max: open_files.unwrap_or(0),
            pinning: pinning(&read("/proc/self/status"), &read("/sys/devices/system/cpu/online")),
            load: first("/proc/loadavg").parse().unwrap_or(0.0),
            remarks: remarks(),
        }
    }
}

/// The version, and the commit where the build script found one.
fn version(commit: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    commit.map_or(version.to_owned(), |commit| format!("{version} ({commit})"))
}

/// The pinning that the programs inherit from the process that started the lab, which itself pins
/// no program.
fn pinning(status: &str, online: &str) -> String {
    let allowed = field(status, "Cpus_allowed_list");
    match allowed == online || allowed.is_empty() {
        true => "none".to_owned(),
        false => format!("all programs to processors {allowed} of {online}"),
    }
}

/// Disturbances of a run.
fn remarks() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut remarks = Vec::new();
    if read("/proc/sys/kernel/sched_autogroup_enabled") == "1" {
        remarks.push("autogroup scheduling is on: nice counts within a session only".to_owned());
    }
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if !governor.is_empty() && governor != "performance" {
        remarks.push(format!("the processor's frequency is scaled: governor {governor}"));
    }
    let quota = read("/sys/fs/cgroup/cpu.max");
    if !quota.is_empty() && !quota.starts_with("max") {
        remarks.push(format!("a control group limits the processor time: {quota}"));
    }
    let memory = read("/sys/fs/cgroup/memory.max");
    if !memory.is_empty() && memory != "max" {
        remarks.push(format!("a control group limits the memory: {memory} bytes"));
    }
    if read("/proc/cpuinfo").contains("hypervisor") {
        remarks.push("a virtual machine: its processors may be shared with others".to_owned());
    }
    if cfg!(debug_assertions) {
        remarks.push(
            "the lab and its own participants are built without full optimisation".to_owned(),
        );
    }
    remarks
}

/// The value behind `name:`.
fn field(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map(|rest| rest.trim_start_matches([' ', '\t', ':']).trim().to_owned()).unwrap_or_default()
}

/// RFC 3339 in UTC.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    timestamp(since.as_secs())
}

fn timestamp(seconds: u64) -> String {
    let (mut day, second) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
        ] {
            assert_eq!(timestamp(seconds), text);
        }
    }

    #[test]
    fn the_pinning_is_reported_and_the_commit_is_behind_the_version() {
        let status =
            |list: &str| format!("Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t{list}\n");
        assert_eq!(pinning(&status("0-3"), "0-3"), "none");
        assert_eq!(pinning(&status("0,2"), "0-3"), "all programs to processors 0,2 of 0-3");
        assert_eq!(pinning("", "0-3"), "none");
        assert!(version(Some("0123456789")).ends_with(" (0123456789)"));
        assert!(!version(None).contains(' '));
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let environment = Environment::capture();
        assert!(environment.kernel.len() > "Linux ".len());
        assert!(environment.memory_bytes > 0 && environment.cores > 0);
    }
}
