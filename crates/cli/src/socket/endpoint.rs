//! Where a socket is: which words of the command line are addresses, and who dials.
//!
//! Leading words that are addresses are addresses; whatever follows is what is sent. rep, pull, pub
//! and respond listen, all others dial, unless `--listen` or `--dial` says otherwise. An address
//! without a host is every interface of this machine for whoever listens, and this machine for
//! whoever dials.

use wigwag::Address;

use crate::exit::Failed;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectMode {
    Dial,
    Listen,
}

/// An address, and what is done there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) mode: ConnectMode,
    pub(crate) address: String,
}

impl Endpoint {
    /// The place at `address`, with its host filled in.
    pub(crate) fn new(mode: ConnectMode, address: &str) -> Endpoint {
        let address = match (address.strip_prefix("tcp://:"), mode) {
            (Some(port), ConnectMode::Listen) => format!("tcp://0.0.0.0:{port}"),
            (Some(port), ConnectMode::Dial) => format!("tcp://127.0.0.1:{port}"),
            (None, _) => address.to_owned(),
        };
        Endpoint { mode, address }
    }
}

/// Splits words into the addresses in front and the rest. The first word must be an address, or the
/// error says what is wrong with it.
pub(crate) fn split(words: &[String]) -> Result<(&[String], &[String]), Failed> {
    if let Some(first) = words.first() {
        first.parse::<Address>()?;
    }
    let addresses = words.iter().take_while(|word| word.parse::<Address>().is_ok()).count();
    Ok(words.split_at(addresses))
}

/// A word as a shell takes it for one.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:@%+=,-".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn addresses_come_first_and_the_rest_is_said() {
        let all = words(&["tcp://a:1", "ipc:///b", "hello", "tcp://c:2"]);
        let (addresses, rest) = split(&all).unwrap();
        assert_eq!((addresses, rest), (&all[..2], &all[2..]));
        assert!(split(&[]).unwrap().0.is_empty());
    }

    #[test]
    fn a_first_word_that_is_no_address_is_refused_with_the_form_of_one() {
        for word in ["hello", "tcq://a:1", "tcp://"] {
            let refused = split(&words(&[word])).unwrap_err().to_string();
            assert!(refused.contains("mend: ") && refused.contains("tcp://"), "{refused}");
        }
    }

    #[test]
    fn an_address_without_a_host_is_every_interface_or_this_machine() {
        let at = |mode| Endpoint::new(mode, "tcp://:7001").address;
        assert_eq!(at(ConnectMode::Listen), "tcp://0.0.0.0:7001");
        assert_eq!(at(ConnectMode::Dial), "tcp://127.0.0.1:7001");
        assert_eq!(Endpoint::new(ConnectMode::Dial, "ipc://:7").address, "ipc://:7");
    }

    #[test]
    fn a_word_is_quoted_when_a_shell_would_take_it_apart() {
        assert_eq!(quoted("tcp://127.0.0.1:7001"), "tcp://127.0.0.1:7001");
        assert_eq!(quoted("who's there"), r"'who'\''s there'");
        assert_eq!((quoted(""), quoted("$x")), ("''".to_owned(), "'$x'".to_owned()));
    }
}
