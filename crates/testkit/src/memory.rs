//! The most memory that a process ever had resident, from `/proc`.

/// A bound on the growth of one process, in KiB: 64 MiB.
pub const GROWTH_KIB_MAX: u64 = 64 * 1024;

/// A process whose memory is watched.
pub struct Memory {
    pid: u32,
    before: u64,
}

impl Memory {
    /// Watches a process from now on: an earlier peak does not count.
    pub fn of(pid: u32) -> Memory {
        // proc_pid_clear_refs(5): 5 resets the peak to what is resident now.
        std::fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("a living process of ours");
        Memory { pid, before: peak(pid) }
    }

    /// Watches this process from now on.
    pub fn of_self() -> Memory {
        Memory::of(std::process::id())
    }

    /// The peak has grown by no more than [`GROWTH_KIB_MAX`].
    pub fn check(&self, what: &str) {
        let grown = self.grown();
        assert!(grown <= GROWTH_KIB_MAX, "{what}: process {} has grown by {grown} KiB", self.pid);
    }

    /// KiB by which the peak has grown.
    pub fn grown(&self) -> u64 {
        // Linux counts resident pages apart for each thread or CPU and adds them up now and then,
        // so that a later reading of the peak can be a little smaller.
        peak(self.pid).saturating_sub(self.before)
    }
}

fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a living process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("Linux tells it")
}
