//! `wigwag key`, which makes a key that two nodes share, and the option that proves one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use wigwag::NodeOptions;
use wigwag::access::{KeyError, SharedKey};

use crate::exit::{Code, Failed};
use crate::print;
use crate::socket::quoted;

/// The permissions of a key.
const KEY_MODE: u32 = 0o600;

/// The longest file that is read: twice the secret and the name of the longest key.
const FILE_BYTES_MAX: u64 = 4096;

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

/// The key that a command proves to the node that it dials.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeyArguments {
    /// Prove the key in this file to the node; made with wigwag key
    #[arg(long, value_name = "FILE")]
    shared_key: Option<PathBuf>,
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

impl KeyArguments {
    /// `options` with the key, if one is given.
    pub(crate) fn with(&self, options: NodeOptions) -> Result<NodeOptions, Failed> {
        let Some(file) = &self.shared_key else { return Ok(options) };
        let path = file.to_string_lossy();
        let text = read(file).map_err(|error| {
            let what = format!("the key cannot be read: {error}");
            Failed::with_hint(Code::Usage, &what, &path, "make one with wigwag key NAME FILE")
        })?;
        let key = text.parse::<SharedKey>().map_err(|error| bad_key(&path, error))?;
        Ok(options.shared_key(key))
    }
}

fn bad_key(place: &str, error: KeyError) -> Failed {
    Failed::with_hint(Code::Usage, &error.to_string(), place, "make one with wigwag key NAME FILE")
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    fs::read_to_string(path)
}

/// Makes a file that was not there, readable by its owner alone.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(KEY_MODE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
