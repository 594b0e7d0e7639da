//! Options of the socket commands that the environment sets: `WIGWAG_DEADLINE` is `--deadline`.
//!
//! What is typed wins: a variable counts only when neither its option stands on the line nor one
//! that excludes it. It then takes the place of the default, so an option that means something only
//! beside another one (`--jobs`) is quietly without effect where that other one is missing. Options
//! that say what is sent or done (`--data`, `--exec` and their like) have no variable: a command
//! must not run a program because of something in its environment.

use std::env;
use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, Error};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::Arguments;
use crate::exit::{Code, Failed};

/// The commands whose options may be set so.
const COMMANDS: [&str; 12] = [
    "req", "rep", "pub", "sub", "push", "pull", "survey", "respond", "pair", "bus", "star",
    "device",
];

/// The options, without the dashes. A command takes those that it has.
const OPTIONS: [&str; 14] = [
    "listen",
    "dial",
    "wait",
    "receive-limit",
    "count",
    "deadline",
    "json",
    "quiet",
    "verbose",
    "interval",
    "format",
    "jobs",
    "keep-line-end",
    "v0",
];

/// What was typed, with what the environment adds. A line that cannot be meant ends the process
/// here, as does `--help`.
pub(crate) fn arguments() -> Result<Arguments, Failed> {
    let typed = Arguments::command().get_matches();
    let all = with_variables(&typed, env::args_os().collect(), |name| env::var_os(name))?;
    Arguments::from_arg_matches(all.as_ref().unwrap_or(&typed)).map_err(|error| error.exit())
}

/// The line read again with variables in place of defaults; `None` when none is set.
fn with_variables(
    typed: &ArgMatches,
    line: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<ArgMatches>, Failed> {
    let mut command = Arguments::command();
    command.build();
    let Some((name, given)) = typed.subcommand().filter(|(name, _)| COMMANDS.contains(name)) else {
        return Ok(None);
    };
    let Some(of) = command.find_subcommand(name).cloned() else {
        return Ok(None);
    };
    let mut set: Vec<Setting> = Vec::new();
    for option in OPTIONS {
        let Some(arg) = of.get_arguments().find(|arg| arg.get_long() == Some(option)) else {
            continue;
        };
        let Some(text) = variable(&variable_name(option)).filter(|text| !text.is_empty()) else {
            continue;
        };
        let setting = Setting::new(name, arg, text)?;
        let is_typed = |arg: &Arg| is_typed(given, arg);
        if !setting.is_on()? || is_typed(arg) || conflicting(&of, arg).into_iter().any(is_typed) {
            continue;
        }
        if let Some(other) = set.iter().find(|it| conflicting(&of, it.arg).contains(&arg)) {
            return Err(setting.contradicts(other));
        }
        set.push(setting);
    }
    let mut matches = None;
    let mut command = Arguments::command();
    // One after the other, so that a refusal says which.
    for setting in &set {
        let (id, value) = (setting.arg.get_id().clone(), setting.value()?);
        command = command.mut_subcommand(name, |of| {
            of.mut_arg(id, |arg| arg.default_value(clap::builder::OsStr::from(value)))
        });
        let read = command.clone().try_get_matches_from(&line);
        matches = Some(read.map_err(|error| setting.refused(&expectation(&error)))?);
    }
    Ok(matches)
}

/// The variable of an option.
fn variable_name(option: &str) -> String {
    format!("WIGWAG_{}", option.replace('-', "_").to_uppercase())
}

fn is_typed(given: &ArgMatches, arg: &Arg) -> bool {
    given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// Those that exclude `arg` or that it excludes: parsers note it at one of the two.
fn conflicting<'a>(of: &'a Command, arg: &Arg) -> Vec<&'a Arg> {
    let excludes = |one: &Arg, other: &Arg| of.get_arg_conflicts_with(one).contains(&other);
    of.get_arguments().filter(|other| excludes(arg, other) || excludes(other, arg)).collect()
}

/// What a refused value should have been.
fn expectation(error: &Error) -> String {
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) {
        return format!("it wants one of {}", values.join(", "));
    }
    match std::error::Error::source(error) {
        Some(reason) => reason.to_string(),
        None => error.kind().to_string(),
    }
}

/// A variable that is set.
struct Setting<'a> {
    command: &'a str,
    arg: &'a Arg,
    variable: String,
    text: String,
}

impl<'a> Setting<'a> {
    fn new(command: &'a str, arg: &'a Arg, text: OsString) -> Result<Setting<'a>, Failed> {
        let variable = variable_name(arg.get_long().unwrap_or_default());
        let lossy = OsStr::to_string_lossy(&text).into_owned();
        let setting = Setting { command, arg, variable, text: lossy };
        match text.into_string() {
            Ok(_) => Ok(setting),
            Err(_) => Err(setting.refused("it wants text")),
        }
    }

    /// Whether it asks for anything: a switch may be off.
    fn is_on(&self) -> Result<bool, Failed> {
        Ok(self.arg.get_action().takes_values() || self.value()? == "true")
    }

    /// What stands in place of the default.
    fn value(&self) -> Result<String, Failed> {
        if self.arg.get_action().takes_values() {
            return Ok(self.text.clone());
        }
        match self.text.to_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok("true".to_owned()),
            "0" | "false" | "no" | "off" => Ok("false".to_owned()),
            _ => Err(self.refused("it wants 1 or 0")),
        }
    }

    fn refused(&self, reason: &str) -> Failed {
        let option = self.arg.get_long().unwrap_or_default();
        let what = format!("{} is {:?}: {reason}", self.variable, self.text);
        let at = format!("--{option} of wigwag {}, set by the environment", self.command);
        let mend = format!("unset {}     or give --{option} on the line", self.variable);
        Failed::with_mend(Code::Usage, &what, &at, &mend)
    }

    fn contradicts(&self, other: &Setting<'_>) -> Failed {
        let what = format!("{} and {} exclude each other", other.variable, self.variable);
        let at = format!("wigwag {}, set by the environment", self.command);
        Failed::with_mend(Code::Usage, &what, &at, &format!("unset {}", self.variable))
    }
}
