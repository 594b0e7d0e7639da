//! `wigwag key`: a key that two nodes share.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use wigwag::access::SharedKey;

use crate::exit::{Code, Failed};
use crate::options::key_option::bad_key;
use crate::print;
use crate::socket::quoted;

/// The permissions of a key.
const KEY_MODE: u32 = 0o600;

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag key worker worker.key                              a new key, for both nodes
  wigwag ask tcp://10.0.0.7:7005/sum add 2 3 --shared-key worker.key
The file holds the name, a colon and the secret in hexadecimal: `SharedKey` reads it.")]
pub(crate) struct Key {
    /// Name of the key, by which the other node knows its holder
    name: String,
    /// File for the key, which its owner alone can read
    file: PathBuf,
}

impl Key {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let path = self.file.to_string_lossy();
        // A name that breaks a rule makes no file.
        SharedKey::new(&self.name, [0; 32]).map_err(|error| bad_key(&self.name, error))?;
        let key = SharedKey::generate(&self.name);
        create(&self.file, &format!("{}\n", key.to_text())).map_err(|error| {
            let hint = "give the name of a new file, in a folder that you may write to";
            let what = format!("the key cannot be written: {error}");
            Failed::with_hint(Code::Usage, &what, &path, hint)
        })?;
        print::line(&format!("wrote {path}; give it to both nodes, and to nobody else"));
        let file = quoted(&path);
        print::line(&format!("wigwag ask tcp://HOST:7001/NAME METHOD --shared-key {file}"));
        Ok(Code::Ok)
    }
}

/// Makes a file that was not there, readable by its owner alone. A part of a key is no key, so a file
/// that cannot be written whole is removed.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(KEY_MODE).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // If it cannot be removed either, the error of the write counts.
        let _ = fs::remove_file(path);
    }
    written
}
