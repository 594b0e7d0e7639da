//! A network of its own for the programs of one trial.
//!
//! All bytes that two processes exchange by TCP or UDP cross the loopback device of their network
//! namespace, and that device counts them. So the lab knows how much went over the wire without
//! asking the participant: payloads that only the sender knew cannot have arrived in fewer bytes
//! than they have. Made with `unshare`, `nsenter` and `ip`, which every Debian has.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Ends by itself when the lab does, however that happens: its standard input ends then.
const HOLD: &str = "PATH=$PATH:/usr/sbin:/sbin ip link set lo up && echo up && read end";

/// A namespace, which a waiting process keeps alive until it is dropped.
#[derive(Debug)]
pub struct NetworkNamespace {
    holder: Child,
    /// True for root; other users need a user namespace as well.
    as_root: bool,
}

impl NetworkNamespace {
    /// Creates a namespace, or returns the reason why this machine cannot.
    pub fn open() -> Result<NetworkNamespace, String> {
        let as_root = rustix::process::geteuid().is_root();
        let mut command = Command::new("unshare");
        if !as_root {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--net", "--", "sh", "-c", HOLD]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = command.spawn().map_err(|error| format!("unshare: {error}"))?;
        let mut said = String::new();
        if let Some(output) = holder.stdout.take() {
            let read = BufReader::new(output).read_line(&mut said);
            read.map_err(|error| error.to_string())?;
        }
        let stage = NetworkNamespace { holder, as_root };
        if said.trim() == "up" { Ok(stage) } else { Err(stage.why()) }
    }

    /// The error, in the words of the program that failed.
    fn why(mut self) -> String {
        let complaints = self.holder.stderr.take().map(BufReader::new);
        let first = complaints.and_then(|lines| lines.lines().map_while(Result::ok).next());
        first.unwrap_or_else(|| "unshare ended without a word".to_owned())
    }

    /// `command`, to be started within. The process stays the one that is started: nothing stands
    /// between the lab and the program.
    pub fn enter(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.arg(format!("--target={}", self.holder.id())).arg("--net");
        if !self.as_root {
            inside.args(["--user", "--preserve-credentials"]);
        }
        inside.arg("--").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside
    }

    /// Bytes that have crossed the loopback device so far, headers and acknowledgements included.
    pub fn bytes(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/net/dev", self.holder.id())).ok()?;
        loopback_bytes(&text)
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Bytes received by `lo`, which are those that were sent.
fn loopback_bytes(devices: &str) -> Option<u64> {
    let line = devices.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_found_among_others() {
        let devices = "Inter-| Receive\n face |bytes packets\n  eth0: 5 1 0\n    lo:  77 2 0 0\n";
        assert_eq!(loopback_bytes(devices), Some(77));
        assert_eq!(loopback_bytes("  eth0: 5 1 0\n"), None);
    }
}
