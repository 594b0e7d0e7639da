//! The endpoints of a socket: addresses, each with the choice between dialing and listening.
//!
//! The leading words of the command line that parse as addresses are the addresses; the following
//! words are the text to send or the topics. rep, pull, pub and respond listen by default, all others
//! dial. An address without a host stands for every interface when listening, and for this machine
//! when dialing.

use wigwag::Address;

use crate::exit::Failed;

/// Whether a socket dials an address or listens at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectMode {
    Dial,
    Listen,
}

/// An address, and whether the socket dials it or listens at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) mode: ConnectMode,
    pub(crate) address: String,
}

impl Endpoint {
    /// The endpoint at `address`. To dial, a missing host is this machine; to listen, it is every
    /// address.
    pub(crate) fn new(mode: ConnectMode, address: &str) -> Endpoint {
        let address = match address.split_once("://:") {
            Some((scheme @ ("tcp" | "tls+tcp" | "ws" | "wss"), port))
                if mode == ConnectMode::Dial && !port.starts_with(':') =>
            {
                format!("{scheme}://127.0.0.1:{port}")
            }
            _ => address.to_owned(),
        };
        Endpoint { mode, address }
    }
}

/// Splits words into the leading addresses and the rest.
///
/// # Errors
///
/// Fails if the first word is not an address, and says why.
pub(crate) fn split(words: &[String]) -> Result<(&[String], &[String]), Failed> {
    if let Some(first) = words.first() {
        first.parse::<Address>()?;
    }
    let addresses = words.iter().take_while(|word| word.parse::<Address>().is_ok()).count();
    Ok(words.split_at(addresses))
}

/// Quotes a word for the shell where necessary.
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
    fn leading_addresses_are_split_from_the_rest() {
        let all = words(&["tcp://a:1", "ipc:///b", "hello", "tcp://c:2"]);
        let (addresses, rest) = split(&all).unwrap();
        assert_eq!((addresses, rest), (&all[..2], &all[2..]));
        assert!(split(&[]).unwrap().0.is_empty());
    }

    #[test]
    fn a_first_word_that_is_no_address_is_refused_with_an_example() {
        for word in ["hello", "tcq://a:1", "tcp://"] {
            let refused = format!("{:#}", split(&words(&[word])).unwrap_err());
            assert!(refused.contains("hint: ") && refused.contains("tcp://"), "{refused}");
        }
    }

    #[test]
    fn a_missing_host_is_this_machine_to_a_dialer() {
        let at = |mode| Endpoint::new(mode, "tcp://:7001").address;
        assert_eq!(at(ConnectMode::Listen), "tcp://:7001");
        assert_eq!(at(ConnectMode::Dial), "tcp://127.0.0.1:7001");
        for same in ["tcp://::1:7001", "ipc://:7", "ipc://tcp://:7", "tls+tcp://host:7"] {
            assert_eq!(Endpoint::new(ConnectMode::Dial, same).address, same);
        }
        let with_tls = Endpoint::new(ConnectMode::Dial, "tls+tcp://:7001").address;
        assert_eq!(with_tls, "tls+tcp://127.0.0.1:7001");
        let over_ws = Endpoint::new(ConnectMode::Dial, "ws://:7001/path").address;
        assert_eq!(over_ws, "ws://127.0.0.1:7001/path");
    }

    #[test]
    fn a_word_is_quoted_if_the_shell_would_split_it() {
        assert_eq!(quoted("tcp://127.0.0.1:7001"), "tcp://127.0.0.1:7001");
        assert_eq!(quoted("who's there"), r"'who'\''s there'");
        assert_eq!((quoted(""), quoted("$x")), ("''".to_owned(), "'$x'".to_owned()));
    }
}
