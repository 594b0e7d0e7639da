//! The command `wigwag`: parses arguments, calls the library and prints the results.
#![forbid(unsafe_code)]

mod ipv6;
mod writes;
mod exit;
mod print;
mod runtime;
mod options;
mod socket;
mod device;
mod actors;
mod measure;
mod setup;
#[cfg(test)]
mod command_lines;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Message passing from the shell: sockets for nanomsg, NNG and mangos programs, and actors.
#[derive(Parser)]
#[command(name = "wigwag", version, help_template = HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The text of `wigwag --help`. A test checks that it names every command.
const HELP: &str = "\
wigwag {version}: {about}

  wigwag rep tcp://:7001 --echo              answer requests of any SP program
  wigwag req tcp://127.0.0.1:7001 hello      send a request, and print the reply
  wigwag demo                                measure, and verify every message

Usage: wigwag COMMAND ...     wigwag COMMAND --help has examples

Sockets  req, rep          requests and replies       survey, respond   ask all peers
         pub, sub          publish and subscribe      pair, bus, star   talk to one, or to all
         push, pull        distribute work            device            join two sockets
Actors   ask, tell         call a method              describe          list the methods
         top               watch nodes                metrics           print for Prometheus
Measure  demo              in two processes           lab               compare systems
         bench             measure and verify a peer
Setup    cert, key         certificates, shared keys  completions, man, help

Options: -h, --help   -V, --version
Exit codes: 0 ok; 1 internal error or failed --exec command; 2 usage; 3 cannot connect or bind;
4 no answer; 5 wrong peer; 6 verification failed; 7 a --fail-if condition holds; 8 refused;
9 a result cannot be written; 130 interrupted
";

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Socket(socket::SocketCommand),
    /// Join two sockets, and forward messages between them
    Device(device::Device),
    /// Measure a peer, and verify every message
    Bench(measure::bench::Bench),
    /// Start a service in a second process, verify every message, and measure against the limit
    Demo(measure::demo::Demo),
    /// Measure message systems side by side, and verify every message
    Lab(measure::lab::Lab),
    /// Run the program of an embedded participant of the lab
    #[command(hide = true)]
    LabParticipant(measure::lab::Participant),
    /// Call a method of an actor and print the reply
    Ask(actors::calls::Ask),
    /// Send a message to an actor, without waiting for a reply
    Tell(actors::calls::Tell),
    /// Print the methods of an actor, or the actors of a node
    Describe(actors::describe::Describe),
    /// Watch the actors and sessions of nodes that allow it
    Top(actors::observe::Top),
    /// Print the counters of a node as a page for Prometheus
    Metrics(actors::observe::MetricsPage),
    /// Make certificates for tls+tcp://, for a first try
    Cert(setup::cert::Cert),
    /// Make a key that two nodes share
    Key(setup::key::Key),
    /// Print the completion script for a shell
    Completions(setup::shell::Completions),
    /// Print the manual page
    Man(setup::shell::Man),
    /// Print what may follow on a command line; for completion scripts
    #[command(hide = true)]
    CompleteCall(setup::complete::CompleteCall),
}

fn main() -> ExitCode {
    let arguments = match options::variables::arguments() {
        Ok(arguments) => arguments,
        Err(failed) => return failed.report(),
    };
    let outcome = match arguments.command {
        Command::Socket(socket) => socket.run(),
        Command::Device(device) => device.run(),
        Command::Bench(bench) => bench.run(),
        Command::Demo(demo) => demo.run(),
        Command::Lab(lab) => lab.run(),
        Command::LabParticipant(participant) => participant.run(),
        Command::Ask(ask) => runtime::run(|| ask.run()),
        Command::Tell(tell) => runtime::run(|| tell.run()),
        Command::Describe(describe) => runtime::run(|| describe.run()),
        Command::Top(top) => runtime::run(|| top.run()),
        Command::Metrics(page) => runtime::run(|| page.run()),
        Command::Cert(cert) => cert.run(),
        Command::Key(key) => key.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
        Command::CompleteCall(line) => line.run(),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failed) => failed.report(),
    }
}
