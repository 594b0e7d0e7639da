//! The hidden command: plays a role of an embedded participant.

use rustix::process::{
    Resource, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
};

use crate::contract::role::Role;
use crate::contract::{Failure, Orders};
use crate::participants::embedded::all;
use crate::participants::{broken, http, raw, relay, wigwag};
use crate::trial::relay_program;

/// Plays a role: what the hidden command does.
pub fn play(name: &str, role: &str) -> Result<(), Failure> {
    if (name, role) == (relay_program::NAME, relay_program::ROLE) {
        return relay::play();
    }
    let nobody = || format!("no participant {name:?} has the role {role:?}");
    let role = Role::named(role).ok_or_else(nobody)?;
    let known = all().any(|it| it.name == name && it.roles.contains(&role));
    if !known {
        return Err(nobody().into());
    }
    end_with_parent()?;
    allow_files()?;
    let orders = Orders::read();
    match (name, role) {
        ("raw", Role::HttpServer) => http::raw::serve(),
        ("raw", Role::HttpClient) => http::client::drive(&orders),
        ("reference", Role::HttpServer) => http::server::serve(&orders),
        ("wigwag", Role::HttpServer) => http::wigwag::serve(),
        (_, Role::HttpServer) => http::broken::serve(name),
        (_, Role::HttpClient) => http::broken::drive(name, &orders),
        ("raw", Role::Counter) => raw::inside::play(&orders),
        ("raw", Role::RemoteServer) => raw::remote::serve(&orders),
        ("raw", Role::RemoteClient) => raw::remote::drive(&orders),
        ("raw", Role::PingpongServer) => raw::pingpong::serve(&orders),
        ("raw", Role::PingpongClient) => raw::pingpong_client::drive(&orders),
        ("wigwag", Role::PingpongServer) => wigwag::pingpong::serve(&orders),
        ("wigwag", Role::PingpongClient) => wigwag::pingpong::drive(&orders),
        ("wigwag", Role::Counter) => wigwag::inside::play(&orders),
        ("wigwag", Role::RemoteServer) => wigwag::remote::serve(&orders),
        ("wigwag", Role::RemoteClient) => wigwag::remote::drive(&orders),
        ("raw", Role::SpServer) => raw::sp::serve(&orders),
        ("raw", Role::SpClient) => raw::sp::drive(&orders),
        ("raw", Role::SpInproc) => raw::sp::inproc::play(&orders),
        ("wigwag", Role::SpServer) => wigwag::sp::serve(&orders),
        ("wigwag", Role::SpClient) => wigwag::sp::drive(&orders),
        ("wigwag", Role::SpSender) => wigwag::sp::fan_out::send(&orders),
        ("wigwag", Role::SpReceiver) => wigwag::sp::fan_out::receive(&orders),
        ("wigwag", _) => wigwag::sp::play(&orders),
        ("broken-due", Role::RemoteServer) => broken::due::serve(&orders),
        ("broken-due", Role::RemoteClient) => broken::due::drive(&orders),
        (_, Role::PingpongServer) => broken::pingpong::serve(name, &orders),
        (_, Role::PingpongClient) => broken::pingpong::drive(name, &orders),
        ("broken-early" | "broken-leak" | "broken-hide" | "broken-restart", Role::Counter) => {
            broken::counter::count(name, &orders)
        }
        ("broken-hoard" | "broken-guess" | "broken-skip" | "broken-shared", Role::Counter) => {
            broken::inside::play(name, &orders)
        }
        (_, Role::Counter) => broken::count(name, &orders),
        (_, Role::RemoteServer) => broken::serve(name, &orders),
        (_, Role::RemoteClient) => broken::drive(name, &orders),
        (_, Role::SpServer) => broken::sp::serve(&orders),
        (_, Role::SpSender) => broken::fan_out::send(name, &orders),
        (_, Role::SpReceiver) => broken::fan_out::receive(&orders),
        (_, Role::SpClient | Role::SpInproc) => broken::sp::drive(name, &orders),
    }
}

/// Lets the kernel end this process when the lab's process ends in any way.
fn end_with_parent() -> Result<(), Failure> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid() == parent {
        true => Ok(()),
        // The lab has ended before the call, so no signal will be sent.
        false => Err("the lab has ended".into()),
    }
}

/// Raises the limit of open files as far as any process may: a thousand connections are more than
/// many systems allow at first.
fn allow_files() -> Result<(), Failure> {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    Ok(setrlimit(Resource::Nofile, files)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_that_a_participant_lacks_is_refused() {
        let refused = play("wigwag", "http.client").unwrap_err().to_string();
        assert!(refused.contains("wigwag") && refused.contains("http.client"), "{refused}");
    }
}
