//! Memory of this process, from `/proc`.
#![allow(dead_code, reason = "each test uses its own part")]

/// A bound on the growth of one process, in KiB: 64 MiB.
pub(crate) const GROWTH_KIB_MAX: u64 = 64 * 1024;

/// The peak of the resident memory, measured from some moment on.
pub(crate) struct Memory {
    before: u64,
}

impl Memory {
    pub(crate) fn of_self() -> Memory {
        Memory { before: status("VmHWM:") }
    }

    /// Checks that the peak has grown by no more than [`GROWTH_KIB_MAX`].
    pub(crate) fn check(&self, what: &str) {
        // Linux updates page counts lazily, so a later reading can be a little smaller.
        let grown = status("VmHWM:").saturating_sub(self.before);
        assert!(grown <= GROWTH_KIB_MAX, "{what}: the process has grown by {grown} KiB");
    }
}

/// A number of `/proc/self/status`: KiB for memory.
pub(crate) fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap()
}
