//! A file that a server listens at: a socket of the file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// A name that no other trial has; the file is removed when this is dropped.
pub struct SocketFile(PathBuf);

impl SocketFile {
    /// A name in the folder for temporary files. The file itself is made by the server.
    pub fn unused() -> SocketFile {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wigwag-lab-{}-{number}.sock", process::id());
        SocketFile(std::env::temp_dir().join(name))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A server that tidies up has removed it itself.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_a_file_that_a_server_left_is_removed() {
        let (one, two) = (SocketFile::unused(), SocketFile::unused());
        assert_ne!(one.path(), two.path());
        fs::write(one.path(), "").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
    }
}
