//! Checks that command lines in hints, help and other texts exist: each is parsed by the command's
//! own parser.
//!
//! The texts are the string literals in the sources of this crate, of the lab, and of the crates
//! whose errors the command prints. In them a command line begins with `wigwag` and the name of a
//! command, and ends where prose or another program begins. Command lines that the program puts
//! together are checked where that is done, with [`parses`].

use std::fs;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use crate::Arguments;

/// The crates with such texts.
const CRATES: [&str; 5] = ["cli", "lab", "actor", "net", "wigwag"];

/// Stands for an address that is only known later.
const ADDRESS: &str = "tcp://127.0.0.1:7001";

/// The reason why the command refuses `line`, which may lack arguments: a text may name a command
/// alone.
pub(crate) fn parses(line: &str) -> Result<(), String> {
    let refused = match Arguments::command().try_get_matches_from(words(line)) {
        Ok(_) => return Ok(()),
        Err(refused) => refused,
    };
    match refused.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand => Ok(()),
        _ => Err(format!("{line}: {}", refused.render())),
    }
}

/// The words of a command line as a shell splits it, with an address for each placeholder.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is a first word").push(letter),
        }
    }
    words.retain(|word| !word.is_empty() && !word.starts_with('['));
    words.into_iter().map(|word| with_address(&word)).collect()
}

/// `{bound}/sum`, `URL` or `ADDRESS` with an address.
fn with_address(word: &str) -> String {
    let word = word.trim_end_matches("...");
    if matches!(word, "URL" | "ADDRESS") {
        return ADDRESS.to_owned();
    }
    let Some((before, rest)) = word.split_once('{') else { return word.to_owned() };
    match rest.split_once('}') {
        Some((name, after)) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
            format!("{before}{ADDRESS}{after}")
        }
        _ => word.to_owned(),
    }
}

/// The string literals of a source file, without those of its tests.
fn literals(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut found, mut letters) = (Vec::new(), code.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '/' if letters.peek() == Some(&'/') => {
                letters.by_ref().find(|letter| *letter == '\n');
            }
            // A quote as a character, as a plain one and with its escape.
            '\'' if letters.peek() == Some(&'"') => drop(letters.next()),
            '\'' if letters.peek() == Some(&'\\') => drop(letters.nth(1)),
            '"' => {
                let mut text = String::new();
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    let escaped = if letter == '\\' { letters.next() } else { None };
                    match escaped {
                        None => text.push(letter),
                        Some('n') => text.push('\n'),
                        Some('\n') => {
                            while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
                        }
                        Some(other) => text.push(other),
                    }
                }
                found.push(text);
            }
            _ => {}
        }
    }
    found
}

/// The command lines in a text.
fn command_lines(text: &str) -> Vec<String> {
    let starts = text.match_indices("wigwag ").filter(|(at, start)| {
        let before = &text[..*at];
        let rest = &text[at + start.len()..];
        // "a wigwag node" and "wigwag node" are no commands, nor is "target/wigwag x".
        let is_start = !before.ends_with(|c: char| c.is_alphanumeric() || "/-_".contains(c))
            && !before.ends_with("a ");
        is_start && rest.starts_with(|c: char| c.is_ascii_lowercase()) && !rest.starts_with("node")
    });
    starts.map(|(at, _)| text[at..at + length(&text[at..])].to_owned()).collect()
}

/// Bytes of the command line at the start of `text`.
fn length(text: &str) -> usize {
    const ENDS: [&str; 5] = ["  ", " or ", " (", ", ", " | "];
    let mut is_quoted = false;
    for (at, letter) in text.char_indices() {
        is_quoted ^= letter == '\'';
        let is_end = matches!(letter, '`' | '\n' | '<' | '>' | ')')
            || ENDS.iter().any(|end| text[at..].starts_with(end));
        if is_end && !is_quoted {
            return at;
        }
    }
    text.len()
}

/// The options in a text, without those of other programs.
fn options(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.contains("nngcat") && !line.contains("nanocat"));
    lines
        .flat_map(|line| line.split([' ', '`', '(']))
        .filter_map(|word| word.strip_prefix("--"))
        .map(|word| word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect()
}

fn all_literals(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_literals(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            // The wrong command lines here are wrong on purpose.
            && !path.ends_with("command_lines.rs")
        {
            found.extend(literals(&fs::read_to_string(&path).unwrap()));
        }
    }
}

fn literals_of(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    all_literals(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"),
        &mut found,
    );
    found
}

fn has_option(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|option| option.get_long() == Some(long))
        || command.get_subcommands().any(|inner| has_option(inner, long))
}

#[test]
fn every_command_line_in_a_text_exists() {
    let mut all = Vec::new();
    for name in CRATES {
        let texts = literals_of(name);
        all.extend(texts.iter().flat_map(|text| command_lines(text)));
    }
    let faults: Vec<String> = all.iter().filter_map(|line| parses(line).err()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for known in [
        "wigwag describe ADDRESS",
        "wigwag lab setup {}",
        "wigwag bench serve",
        "wigwag ask {bound}/sum add 2 3",
        "wigwag req tcp://127.0.0.1:7001 '{\"a\":2}' --json",
    ] {
        assert!(all.iter().any(|line| line == known), "{known} was not found: {all:#?}");
    }
}

#[test]
fn every_option_in_a_text_of_the_command_exists() {
    // Commands of the parser itself.
    const OTHERS: [&str; 2] = ["help", "version"];
    let command = Arguments::command();
    let texts = literals_of("cli");
    let named: Vec<&str> = texts.iter().flat_map(|text| options(text)).collect();
    let missing = |long: &&&str| !OTHERS.contains(long) && !has_option(&command, long);
    let missing: Vec<_> = named.iter().filter(missing).collect();
    assert!(missing.is_empty(), "no command has {missing:?}");
    for known in ["deadline", "wait", "echo", "expect", "size"] {
        assert!(named.contains(&known), "--{known} was not found");
    }
}

#[test]
fn a_command_line_ends_where_prose_begins() {
    for (text, lines) in [
        ("ask it: `wigwag describe ADDRESS`", &["wigwag describe ADDRESS"][..]),
        (
            "echo (wigwag rep URL --echo, wigwag bench serve URL), or",
            &["wigwag rep URL --echo", "wigwag bench serve URL"],
        ),
        ("wigwag bench latency or throughput", &["wigwag bench latency"]),
        (
            "wigwag pub tcp://:1 'a, b' --interval 1s   one  each",
            &["wigwag pub tcp://:1 'a, b' --interval 1s"],
        ),
        ("dial a wigwag node", &[]),
    ] {
        assert_eq!(command_lines(text), lines);
    }
    for wrong in ["wigwag descrbe URL", "wigwag rep URL --ecko", "wigwag ask URL --deadline soon"] {
        assert!(parses(wrong).is_err(), "{wrong}");
    }
    assert_eq!(options("use --size, or (--wait 3s) as nngcat\nsee --a-b."), ["a-b"]);
}
