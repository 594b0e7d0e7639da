//! Environment variables for options of the socket commands: `WIGWAG_DEADLINE` sets `--deadline`.
//!
//! The command line has precedence: a variable is ignored if its option, or an option that conflicts
//! with it, is on the line. Otherwise the variable replaces the default of its option, so an option
//! that requires another one (`--jobs`) has no effect where that one is missing. Options that set
//! what is sent or executed (`--data`, `--exec` and similar) have no variable: a command must not
//! run a program because of its environment.

use std::env;
use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, Error};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::Arguments;
use crate::exit::{Code, Failed};
use crate::print;

/// The commands that read the variables.
const COMMANDS: [&str; 12] = [
    "req", "rep", "pub", "sub", "push", "pull", "survey", "respond", "pair", "bus", "star",
    "device",
];

/// The options with a variable, without the dashes. A command reads those that it has.
const OPTIONS: [&str; 21] = [
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
    "tls-ca",
    "tls-cert",
    "tls-key",
    "tls-client-ca",
    "tls-crl",
    "tls-name",
    "tls12",
];

/// Parses the command line and applies the environment. An invalid line ends the process here, as
/// does `--help`.
pub(crate) fn arguments() -> Result<Arguments, Failed> {
    let typed = Arguments::command().try_get_matches().or_else(refuse)?;
    let all = with_variables(&typed, env::args_os().collect(), |name| env::var_os(name))?;
    Arguments::from_arg_matches(all.as_ref().unwrap_or(&typed)).or_else(refuse)
}

/// Ends the process with what the parser says. The texts of `--help` and `--version` are results.
fn refuse<T>(error: Error) -> Result<T, Failed> {
    if error.use_stderr() {
        error.exit()
    }
    print::printed(error.print())?;
    std::process::exit(Code::Ok as i32)
}

/// Parses the line again with variables in place of defaults; `None` if no variable applies.
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
    // One variable at a time, so that an error names the variable.
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

/// The name of the variable for an option.
fn variable_name(option: &str) -> String {
    format!("WIGWAG_{}", option.replace('-', "_").to_uppercase())
}

fn is_typed(given: &ArgMatches, arg: &Arg) -> bool {
    given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// The options that conflict with `arg`. The parser records a conflict at only one of the two.
fn conflicting<'a>(of: &'a Command, arg: &Arg) -> Vec<&'a Arg> {
    let excludes = |one: &Arg, other: &Arg| of.get_arg_conflicts_with(one).contains(&other);
    of.get_arguments().filter(|other| excludes(arg, other) || excludes(other, arg)).collect()
}

/// Describes the values that an option accepts, or the reason why one was refused.
fn expectation(error: &Error) -> String {
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) {
        return format!("expected one of {}", values.join(", "));
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
            Err(_) => Err(setting.refused("expected UTF-8 text")),
        }
    }

    /// False for a switch that is set to off.
    fn is_on(&self) -> Result<bool, Failed> {
        Ok(self.arg.get_action().takes_values() || self.value()? == "true")
    }

    /// The value that replaces the default.
    fn value(&self) -> Result<String, Failed> {
        if self.arg.get_action().takes_values() {
            return Ok(self.text.clone());
        }
        match self.text.to_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok("true".to_owned()),
            "0" | "false" | "no" | "off" => Ok("false".to_owned()),
            _ => Err(self.refused("expected 1 or 0")),
        }
    }

    fn refused(&self, reason: &str) -> Failed {
        let option = self.arg.get_long().unwrap_or_default();
        let what = format!("{} is {:?}: {reason}", self.variable, self.text);
        let at = format!("--{option} of wigwag {}, set by the environment", self.command);
        let hint = format!("unset {}     or give --{option} on the command line", self.variable);
        Failed::with_hint(Code::Usage, &what, &at, &hint)
    }

    fn contradicts(&self, other: &Setting<'_>) -> Failed {
        let what = format!("{} and {} conflict", other.variable, self.variable);
        let at = format!("wigwag {}, set by the environment", self.command);
        Failed::with_hint(Code::Usage, &what, &at, &format!("unset {}", self.variable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options that set what is sent or executed, where to, and how it is answered.
    const WITHOUT: [&str; 8] =
        ["and-listen", "and-dial", "data", "file", "whole", "exec", "echo", "pair"];

    #[test]
    fn every_other_option_of_a_socket_command_has_a_variable() {
        let command = Arguments::command();
        let longs = COMMANDS.iter().flat_map(|name| {
            let of = command.find_subcommand(name).expect("there is such a command");
            of.get_arguments().filter_map(Arg::get_long).collect::<Vec<_>>()
        });
        let missing: Vec<&str> =
            longs.filter(|long| !OPTIONS.contains(long) && !WITHOUT.contains(long)).collect();
        assert_eq!(missing, [""; 0]);
    }
}
