//! Two network namespaces and a cable between them, for as long as a test takes.

use std::process::{self, Command};

/// Address of the listener's end of the cable.
pub(crate) const LISTENER: &str = "10.77.0.1";
/// Address of the dialer's end.
pub(crate) const DIALER: &str = "10.77.0.2";

/// The two namespaces, by name; removed on drop.
pub(crate) struct Land {
    pub(crate) listener: String,
    pub(crate) dialer: String,
    /// The interface name of the dialer's end of the cable.
    pub(crate) cable: String,
}

/// Runs a command line that must succeed.
pub(crate) fn run(line: &str) {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    let output = command.args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{line}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
}

impl Land {
    /// Creates namespaces whose names no other run uses at the same time.
    pub(crate) fn new() -> Land {
        let id = process::id();
        let land = Land {
            listener: format!("wigwag-l{id}"),
            dialer: format!("wigwag-d{id}"),
            cable: format!("wd{id}"),
        };
        let Land { listener, dialer, cable } = &land;
        run(&format!("ip netns add {listener}"));
        run(&format!("ip netns add {dialer}"));
        run(&format!(
            "ip link add {cable} netns {dialer} type veth peer name wl{id} netns {listener}"
        ));
        for (name, end, address) in
            [(listener, format!("wl{id}"), LISTENER), (dialer, cable.clone(), DIALER)]
        {
            run(&format!("ip -n {name} address add {address}/24 dev {end}"));
            run(&format!("ip -n {name} link set {end} up"));
            run(&format!("ip -n {name} link set lo up"));
        }
        land
    }
}

impl Drop for Land {
    fn drop(&mut self) {
        // The cable is removed with its ends. A failed test leaves nothing behind either.
        for name in [&self.listener, &self.dialer] {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}
