//! The option by which a command proves a shared key.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use wigwag::NodeOptions;
use wigwag::access::{KeyError, SharedKey};

use crate::exit::{Code, Failed};

/// The longest file that is read: twice the secret and the name of the longest key.
const FILE_BYTES_MAX: u64 = 4096;

/// The key that a command proves to the node that it dials.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeyArguments {
    /// Prove the key in this file to the node; made with wigwag key
    #[arg(long, value_name = "FILE")]
    shared_key: Option<PathBuf>,
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

/// The error of a key that breaks a rule.
pub(crate) fn bad_key(place: &str, error: KeyError) -> Failed {
    Failed::with_hint(Code::Usage, &error.to_string(), place, "make one with wigwag key NAME FILE")
}

fn read(path: &Path) -> io::Result<String> {
    // A pipe or a device tells no length in advance, and may have no end.
    let mut text = String::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(text)
}
