//! The command `wigwag`: argument parsing and printing over the library.
#![forbid(unsafe_code)]

mod demo;
mod lab;
mod calls;
mod arguments;
mod print;
mod exit;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Message passing: calls to actors from the shell, and a demo that measures itself.
#[derive(Parser)]
#[command(name = "wigwag", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  wigwag demo                                       measure, and verify every message
  wigwag demo --serve                               keep two actors up to try calls on
  wigwag ask tcp://127.0.0.1:7001/sum add 2 3       ask an actor
Exit codes: 0 ok, 1 internal, 2 usage, 3 cannot connect, 4 no answer, 5 wrong peer,
6 verification failed, 7 a condition of --fail-if holds, 8 refused, 130 interrupted";

#[derive(Subcommand)]
enum Command {
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
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Demo(demo) => demo.run(),
        Command::Lab(lab) => lab.run(),
        Command::LabParticipant(participant) => participant.run(),
        Command::Ask(ask) => calls::run(|| ask.run()),
        Command::Tell(tell) => calls::run(|| tell.run()),
        Command::Describe(describe) => calls::run(|| describe.run()),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failed) => failed.report(),
    }
}
