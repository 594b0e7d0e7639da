//! The command `wigwag`: argument parsing and printing over the library.
#![forbid(unsafe_code)]

mod socket;
mod device;
mod bench;
mod demo;
mod lab;
mod calls;
mod arguments;
mod variables;
mod condition;
mod units;
mod shell;
mod print;
mod exit;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Message passing from the shell: sockets that speak to nanomsg, NNG and mangos, and actors.
#[derive(Parser)]
#[command(name = "wigwag", version, help_template = HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The first screen. A test sees that no command is missing.
const HELP: &str = "\
wigwag {version}: {about}

  wigwag rep tcp://:7001 --echo              answer; any program that speaks SP may ask
  wigwag req tcp://127.0.0.1:7001 hello      ask, and print the reply
  wigwag demo                                measure, and verify every message

Usage: wigwag COMMAND ...     wigwag COMMAND --help has examples

Sockets  req, rep          requests and replies       survey, respond   ask everybody
         pub, sub          publish and subscribe      pair, bus, star   talk to one, to all
         push, pull        spread work                device            join two sockets
Actors   ask, tell         call a method              describe          which methods there are
Measure  demo              in two processes           lab               systems side by side
         bench             a peer, and verify it
Shell    completions, man, help

Options: -h, --help   -V, --version
Exit codes: 0 ok, 1 internal, or a command of --exec failed; 2 usage; 3 cannot connect or bind;
4 no answer; 5 wrong peer; 6 verification failed; 7 a condition of --fail-if holds; 8 refused;
130 interrupted
";

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Socket(socket::SocketCommand),
    /// Join two sockets, and pass on what comes
    Device(device::Device),
    /// Measure a peer, and verify every message
    Bench(bench::Bench),
    /// Start a service in a second process, send to it, verify, and measure against the limit
    Demo(demo::Demo),
    /// Measure message systems side by side, each with a verdict before it has a number
    Lab(lab::Lab),
    /// A program of an embedded participant of the lab
    #[command(hide = true)]
    LabParticipant(lab::Participant),
    /// Call a method of an actor and print the reply
    Ask(calls::Ask),
    /// Send a message to an actor, without waiting for a reply
    Tell(calls::Tell),
    /// Print the methods that an actor understands
    Describe(calls::Describe),
    /// Print what a shell needs to complete commands
    Completions(shell::Completions),
    /// Print the manual
    Man(shell::Man),
}

fn main() -> ExitCode {
    let arguments = match variables::arguments() {
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
        Command::Ask(ask) => calls::run(|| ask.run()),
        Command::Tell(tell) => calls::run(|| tell.run()),
        Command::Describe(describe) => calls::run(|| describe.run()),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failed) => failed.report(),
    }
}
