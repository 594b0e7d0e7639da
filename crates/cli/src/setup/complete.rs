//! `wigwag complete-call`: what may follow on the line `wigwag ask tcp://127.0.0.1:7005/sum a`.
//!
//! The scripts for bash and fish run it for each press of the tab key. It asks the node at
//! the typed address for the names of actors, methods and arguments, and prints for each that fits
//! the rest of the word. Nobody reads an error there, and a person waits: it is silent, and short.
//!
//! The names come from the peer and end up on a command line, so only those are printed that no
//! shell reads as anything but a word.

use std::time::Duration;

use clap::{Args, Parser};
use clap_complete::Shell;

use crate::actors::caller::{CLOSE_MAX, Caller, TargetArguments};
use crate::actors::calls::CallArguments;
use crate::exit::{Code, Failed};
use crate::{Arguments, Command, print, runtime};

/// The lines that are appended to the generated script for a shell, if its script asks the node.
pub(crate) fn addition(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("complete.bash"),
        Shell::Fish => include_str!("complete.fish"),
        _ => "",
    }
}

/// How long the node may take to answer.
const WITHIN: Duration = Duration::from_millis(300);

/// Names that are printed: more than a person chooses from.
const NAMES_MAX: usize = 1000;

#[derive(Args)]
pub(crate) struct CompleteCall {
    /// The command line up to the cursor
    line: String,
}

impl CompleteCall {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let _ = runtime::run(|| async {
            let tails = match Wanted::read(&self.line) {
                Some(wanted) => wanted.tails().await.unwrap_or_default(),
                None => Vec::new(),
            };
            tails.iter().take(NAMES_MAX).for_each(|tail| print::line(tail));
            // The end of the runtime would wait for a lookup of the host's name.
            std::process::exit(0)
        });
        Ok(Code::Ok)
    }
}

/// The kind of the last word of a line, and its start.
struct Wanted {
    what: What,
    start: String,
    target: TargetArguments,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    /// An address, up to the name of the actor.
    Actor,
    Method,
    /// An argument of the method, behind those that are named already.
    Argument {
        method: String,
        given: Vec<String>,
    },
}

/// Stands for the last word while the line is parsed. No word of a line has such a letter.
const LAST: &str = "\u{1}";

impl Wanted {
    /// Reads a line up to the cursor; `None` if its last word is something else.
    fn read(line: &str) -> Option<Wanted> {
        let mut words = words(line)?;
        let start = words.pop()?;
        // An option is completed from the parser.
        if start.starts_with('-') {
            return None;
        }
        words.push(LAST.to_owned());
        let parsed = Arguments::try_parse_from(&words).or_else(|_| {
            // The address may be the last word, and the method is required.
            words.push(String::new());
            Arguments::try_parse_from(&words)
        });
        let call = match parsed.ok()?.command {
            Command::Ask(ask) => ask.call,
            Command::Tell(tell) => tell.call,
            Command::Describe(describe) => CallArguments {
                target: describe.target,
                method: String::new(),
                arguments: Vec::new(),
            },
            _ => return None,
        };
        let CallArguments { target, method, mut arguments } = call;
        let what = if target.address == LAST {
            What::Actor
        } else if method == LAST {
            What::Method
        } else if arguments.pop().as_deref() == Some(LAST) && !start.contains('=') {
            What::Argument { method, given: arguments }
        } else {
            return None;
        };
        Some(Wanted { what, start, target: TargetArguments { deadline: WITHIN, ..target } })
    }

    /// The texts that may follow the start of the word.
    async fn tails(self) -> Result<Vec<String>, Failed> {
        let Wanted { what, start, mut target } = self;
        if what == What::Actor {
            let Some((node, name)) = start.rsplit_once('/') else { return Ok(Vec::new()) };
            let (node, name) = (node.to_owned(), name.to_owned());
            target.address = node;
            let listed = asked(target, async |client, node| Ok(client.list_actors(node).await?));
            let listed = listed.await?;
            return Ok(fitting(listed.iter().map(|one| one.name.clone()), &name));
        }
        let actor = asked(target, async |client, address| Ok(client.dynamic(address).await?));
        let actor = actor.await?;
        let methods = actor.described().methods.iter();
        Ok(match what {
            What::Argument { method, given } => {
                let parameters = methods.filter(|(name, ..)| *name == method);
                let names = parameters.flat_map(|(_, parameters, _)| parameters);
                // Behind arguments in order there are no names.
                let is_named = given.iter().all(|word| word.contains('='));
                let is_given = |name: &str| {
                    given
                        .iter()
                        .any(|word| word.split_once('=').is_some_and(|(given, _)| given == name))
                };
                let left = names.map(|(name, _)| name).filter(|name| is_named && !is_given(name));
                fitting(left.cloned(), &start).into_iter().map(|tail| tail + "=").collect()
            }
            _ => fitting(methods.map(|(name, ..)| name.clone()), &start),
        })
    }
}

/// Asks the node within the time that there is, and closes the session.
async fn asked<T>(
    target: TargetArguments,
    ask: impl AsyncFnOnce(&wigwag::Node, &str) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let caller = Caller::new(target)?;
    let answer = caller.call(ask).await;
    caller.close(CLOSE_MAX).await;
    answer
}

/// The rest of each name that begins with `start` and that a shell reads as it is.
fn fitting(names: impl Iterator<Item = String>, start: &str) -> Vec<String> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    names
        .filter(|name| name.chars().all(is_plain))
        .filter_map(|name| name.strip_prefix(start).map(str::to_owned))
        .collect()
}

/// The words of a line as a shell reads them, without its expansions; `None` if a quote is open.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), Some(String::new()), None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let text = word.get_or_insert_default();
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, '\\') | (Some('"'), '\\') => text.extend(letters.next()),
            (None, ' ' | '\t') => {
                words.extend(word.replace(String::new()).filter(|it| !it.is_empty()))
            }
            (_, letter) => text.push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_an_actor_a_method_or_an_argument() {
        let read = |line: &str| Wanted::read(line).map(|wanted| (wanted.what, wanted.start));
        for (line, what, start) in [
            ("wigwag ask tcp://a:1/s", What::Actor, "tcp://a:1/s"),
            ("wigwag describe --json tcp://a:1/", What::Actor, "tcp://a:1/"),
            ("./wigwag tell tcp://a:1/s ", What::Method, ""),
            ("wigwag ask --deadline 1s 'tcp://a:1/s' ad", What::Method, "ad"),
        ] {
            assert_eq!(read(line), Some((what, start.to_owned())), "{line}");
        }
        let argument = |method: &str, given: &[&str]| What::Argument {
            method: method.into(),
            given: given.iter().map(|word| (*word).into()).collect(),
        };
        let line = "wigwag ask tcp://a:1/s add a='x y' b";
        assert_eq!(read(line), Some((argument("add", &["a=x y"]), "b".into())));
        for line in [
            "wigwag ask tcp://a:1/s add a=",
            "wigwag ask tcp://a:1/s add 'b",
            "wigwag ask tcp://a:1/s --dead",
            "wigwag ask tcp://a:1/s --deadline ",
            "wigwag describe tcp://a:1/s x",
            "wigwag req tcp://a:1 ",
            "wigwag",
            "",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn names_that_a_shell_might_read_otherwise_are_left_out() {
        let names = ["add", "addé", "add$(reboot)", "add it", "add;x", "get", "add`x`", "add\n"];
        assert_eq!(fitting(names.into_iter().map(str::to_owned), "ad"), ["d", "dé"]);
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (line, expected) in [
            ("a  b", &["a", "b"][..]),
            ("a ", &["a", ""]),
            (r#"'a b' "c 'd" e\ f"#, &["a b", "c 'd", "e f"]),
            ("", &[""]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
        assert_eq!(words("a 'b"), None);
    }
}
