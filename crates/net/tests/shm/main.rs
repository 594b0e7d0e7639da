//! Shared memory between processes: what dies, what is not let in, and what is left behind.
#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]
#![allow(clippy::disallowed_types, reason = "no model of loom is checked here")]

mod deaths;
mod halves;
mod scribbled;
mod strangers;
mod upgrade;

use std::path::PathBuf;

/// A directory for the socket file of one test; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("wigwag-shm-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    fn address(&self) -> String {
        format!("shm://{}", self.socket().display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Held by a test that counts or overwrites what the process has mapped.
async fn alone() -> tokio::sync::MutexGuard<'static, ()> {
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let alone = ALONE.lock().await;
    // The runtime of the test before this one ends after its guard, and the last sockets with it. The
    // kernel sends no event when a mapping goes.
    while segments() + descriptors() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    alone
}

/// The lines of a file of this process in /proc.
fn of_process(file: &str) -> String {
    std::fs::read_to_string(format!("/proc/self/{file}")).unwrap()
}

/// Segments that this process has mapped.
fn segments() -> usize {
    of_process("maps").lines().filter(|line| line.contains("memfd:wigwag")).count()
}

/// Descriptors that this process has open: that are segments.
fn descriptors() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let names = links.filter_map(|link| std::fs::read_link(link.path()).ok());
    names.filter(|name| name.to_string_lossy().contains("memfd:wigwag")).count()
}
