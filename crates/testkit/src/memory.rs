//! The peak resident memory of a process, from `/proc`.

/// A bound on the growth of one process, in KiB: 64 MiB.
pub const GROWTH_KIB_MAX: u64 = 64 * 1024;

/// A process whose memory is measured.
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

    /// Asserts that the peak has grown by at most [`GROWTH_KIB_MAX`].
    pub fn check(&self, what: &str) {
        let grown = self.grown();
        assert!(grown <= GROWTH_KIB_MAX, "{what}: process {} has grown by {grown} KiB", self.pid);
    }

    /// The growth of the peak, in KiB.
    pub fn grown(&self) -> u64 {
        // Linux counts resident pages per thread or CPU and adds them up from time to time, so a
        // later reading of the peak can be slightly smaller.
        peak(self.pid).saturating_sub(self.before)
    }
}

fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a living process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("Linux tells it")
}
