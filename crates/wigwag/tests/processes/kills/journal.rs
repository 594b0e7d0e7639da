//! An actor that records each call before it does anything else, so that the record survives its
//! process.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes numbers into a file.
pub(crate) struct Journal {
    file: File,
}

#[wigwag::actor]
impl Journal {
    pub fn note(&mut self, number: u64) {
        // One system call: bytes that it wrote stay when the process is killed.
        self.file.write_all(&number.to_le_bytes()).unwrap();
    }

    pub fn count(&mut self, number: u64) -> u64 {
        self.note(number);
        number + 1
    }
}

impl Journal {
    pub(crate) fn at(path: &Path) -> Journal {
        Journal { file: File::create(path).unwrap() }
    }
}

/// A journal's file, which is removed on drop.
pub(crate) struct Pages(pub(crate) PathBuf);

impl Pages {
    pub(crate) fn new(name: &str) -> Pages {
        let name = format!("wigwag-journal-{}-{name}", std::process::id());
        Pages(std::env::temp_dir().join(name))
    }

    /// The numbers in the file.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let bytes = fs::read(&self.0).unwrap();
        let (numbers, rest) = bytes.as_chunks::<8>();
        assert!(rest.is_empty(), "half a number");
        numbers.iter().map(|number| u64::from_le_bytes(*number)).collect()
    }

    /// How many numbers the file holds; each stands there once and in order, from 0.
    pub(crate) fn count(&self) -> u64 {
        let numbers = self.numbers();
        let due = 0..numbers.len() as u64;
        assert!(due.eq(numbers.iter().copied()), "lost, doubled or out of order");
        numbers.len() as u64
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // The file may never have been created.
        let _ = fs::remove_file(&self.0);
    }
}
