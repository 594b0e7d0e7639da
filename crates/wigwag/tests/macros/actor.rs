//! The output of `#[wigwag::actor]` for an `impl` block and for a `trait`.
//!
//! The lints below are stricter than the workspace's: the macro's output must pass in any user's
//! crate.
#![deny(missing_docs, deprecated, unused, unreachable_pub, private_interfaces, clippy::pedantic)]

use std::collections::BTreeMap;

use wigwag::__private::{Buffer, Bytes, FIRST_METHOD, Message as _, Reader};
use wigwag::{Actor, CallErrorKind, Interface, Message, Node};

/// A type that is private to this crate.
#[derive(Message, Clone, Debug, PartialEq)]
struct Entry {
    key: String,
    amount: i64,
}

/// An actor with one method of each kind.
#[derive(Default)]
struct Ledger {
    entries: BTreeMap<String, i64>,
    bytes_seen: usize,
}

#[wigwag::actor]
impl Ledger {
    /// Not a call, since it takes no `self`.
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// Books one entry.
    pub fn book(&mut self, entry: Entry) {
        *self.entries.entry(entry.key).or_default() += entry.amount;
    }

    /// The amount under a key; the arguments have names that the macro might use itself.
    pub fn balance(&self, reply: &str, message: Option<i64>) -> i64 {
        let value = self.entries.get(reply).copied();
        value.or(message).unwrap_or_default()
    }

    /// Takes borrowed text and bytes.
    pub fn import(&mut self, mut key: &str, body: &[u8]) -> usize {
        self.bytes_seen += body.len();
        key = key.trim();
        self.put(key);
        self.bytes_seen
    }

    /// Awaits in between.
    pub async fn import_later(&mut self, key: String, body: Bytes) -> Result<usize, String> {
        tokio::task::yield_now().await;
        if body.is_empty() {
            return Err(format!("nothing under {key}"));
        }
        Ok(self.import(&key, &body))
    }

    /// Takes a raw identifier and an unused array, and returns a type of this crate.
    pub fn split(&mut self, r#type: u8, _unused: [u8; 2]) -> (Vec<Entry>, u8) {
        let entries = self.entries.iter();
        let entries = entries.map(|(key, &amount)| Entry { key: key.clone(), amount });
        (entries.collect(), r#type)
    }

    /// Panics.
    pub fn fail(&mut self) {
        assert!(self.entries.is_empty(), "entries are left");
    }

    /// Not public, so not a call, although other code of the crate may use it.
    pub(crate) fn put(&mut self, key: &str) {
        self.entries.entry(key.to_owned()).or_default();
    }
}

#[tokio::test]
async fn every_kind_of_method_can_be_called() {
    let ledger = Ledger::new().spawn();
    let entry = |key: &str, amount| Entry { key: key.into(), amount };
    ledger.book(entry("a", 5)).tell().await.unwrap();
    ledger.book(entry("a", -7)).try_tell().unwrap();
    assert_eq!(ledger.balance("a", None).ask().await.unwrap(), -2);
    assert_eq!(ledger.balance("b", Some(9)).ask().await.unwrap(), 9);
    assert_eq!(ledger.import(" b ", &[1, 2, 3]).ask().await.unwrap(), 3);

    let later = ledger.import_later("c".into(), Bytes::from_static(&[4]));
    assert_eq!(later.ask().await.unwrap(), Ok(4));
    let nothing = ledger.import_later("d".into(), Bytes::new());
    assert_eq!(nothing.ask().await.unwrap(), Err("nothing under d".into()));

    let (entries, kind) = ledger.split(3, [0, 0]).ask().await.unwrap();
    assert_eq!(entries, [entry("a", -2), entry("b", 0), entry("c", 0)].to_vec());
    assert_eq!(kind, 3);
    let panicked = ledger.fail().ask().await.unwrap_err();
    assert_eq!(panicked.error().kind, CallErrorKind::Panicked);
}

#[test]
fn the_schema_tells_names_and_types_as_they_are_written() {
    let schema = Ledger::SCHEMA;
    assert_eq!(schema.name, "Ledger");
    let told: Vec<String> = schema
        .methods
        .iter()
        .map(|method| {
            let arguments = method.arguments.iter();
            let arguments: Vec<_> =
                arguments.map(|one| format!("{}: {}", one.name, one.kind)).collect();
            format!("{}({}) -> {}", method.name, arguments.join(", "), method.reply)
        })
        .collect();
    assert_eq!(
        told,
        [
            "book(entry: Entry) -> ()",
            "balance(reply: String, message: Option<i64>) -> i64",
            "import(key: String, body: Bytes) -> usize",
            "import_later(key: String, body: Bytes) -> Result<usize, String>",
            "split(type: u8, _unused: [u8; 2]) -> (Vec<Entry>, u8)",
            "fail() -> ()",
        ]
    );
}

fn arguments(message: &LedgerMessage) -> Vec<u8> {
    let mut out = Buffer::default();
    message.encode_arguments(&mut out);
    out.as_slice().to_vec()
}

#[test]
fn a_message_is_a_number_and_a_positional_array() {
    let message = LedgerMessage::Balance { reply: "ab".into(), message: None };
    assert_eq!(message.method(), FIRST_METHOD + 1);
    assert_eq!(arguments(&message), [0x92, 0xA2, b'a', b'b', 0xC0]);
    assert_eq!(arguments(&LedgerMessage::Fail {}), [0x90]);

    let body = Bytes::from_static(&[7, 8]);
    let import = LedgerMessage::Import { key: String::new(), body };
    assert_eq!(arguments(&import), [0x92, 0xA0, 0xC4, 2, 7, 8]);
}

#[test]
fn every_message_comes_back_from_its_bytes() {
    let messages = [
        LedgerMessage::Book { entry: Entry { key: "k".into(), amount: -1 } },
        LedgerMessage::Balance { reply: "k".into(), message: Some(3) },
        LedgerMessage::Split { r#type: 1, _unused: [2, 3] },
        LedgerMessage::Fail {},
    ];
    for message in messages {
        let bytes = arguments(&message);
        let read = LedgerMessage::decode(message.method(), &mut Reader::new(&bytes));
        let read = read.unwrap().expect("the method is known");
        assert_eq!(read.method(), message.method());
        assert_eq!(arguments(&read), bytes);
    }
}

#[test]
fn a_missing_option_at_the_end_is_none_and_anything_else_an_error() {
    let decode = |number, bytes: &[u8]| {
        LedgerMessage::decode(FIRST_METHOD + number, &mut Reader::new(bytes))
    };
    let Ok(Some(LedgerMessage::Balance { reply, message })) = decode(1, &[0x91, 0xA1, b'k']) else {
        panic!("one argument is enough");
    };
    assert_eq!((reply.as_str(), message), ("k", None));
    let error = decode(1, &[0x90]).err().unwrap();
    assert_eq!(error.to_string(), "the value does not fit 1 argument");
    let error = decode(2, &[0x91, 0xA1, b'k']).err().unwrap();
    assert_eq!(error.to_string(), "the value does not fit 2 arguments");
}

#[test]
fn extra_arguments_are_left_unread_and_unknown_methods_are_none() {
    let bytes = [0x93, 0xA1, b'k', 5, 0x91, 1];
    let read = LedgerMessage::decode(FIRST_METHOD + 1, &mut Reader::new(&bytes));
    assert!(matches!(read, Ok(Some(LedgerMessage::Balance { message: Some(5), .. }))));
    for unknown in [0, FIRST_METHOD + 6, u32::MAX] {
        let read = LedgerMessage::decode(unknown, &mut Reader::new(&[0x90]));
        assert!(matches!(read, Ok(None)), "{unknown}");
    }
}

/// The interface that a caller of [`Vault`] needs.
#[wigwag::actor]
trait Bank {
    /// The balance of an account.
    fn balance(&self, account: u32) -> i64;
    /// Opens an account.
    async fn open(&mut self, owner: String, limit: Option<u64>) -> Result<u32, String>;
    /// Records a note.
    fn note(&mut self, text: &str, scan: &[u8]);
}

struct Vault;

#[wigwag::actor]
impl Vault {
    /// Implemented by a plain method.
    pub fn balance(&self, account: u32) -> i64 {
        let _ = self;
        i64::from(account)
    }

    /// Plain here and async in the trait: callers see no difference.
    pub fn open(&mut self, owner: &str, limit: Option<u64>) -> Result<u32, String> {
        let _ = (&self, limit);
        Err(format!("{owner} has one already"))
    }

    /// Owned arguments here and borrowed ones in the trait.
    pub async fn note(&mut self, text: String, scan: Bytes) {
        tokio::task::yield_now().await;
        let _ = (text, scan);
    }
}

#[test]
fn an_interface_and_an_actor_with_the_same_calls_have_the_same_hash() {
    assert_eq!(BankInterface::SCHEMA.name, "Bank");
    assert_eq!(BankInterface::SCHEMA.hash, Vault::SCHEMA.hash);
    assert_ne!(BankInterface::SCHEMA.hash, Ledger::SCHEMA.hash);
}

#[test]
fn an_actor_reads_what_the_interface_writes() {
    let written = BankMessage::Open { owner: "Ada".into(), limit: Some(3) };
    let mut out = Buffer::default();
    written.encode_arguments(&mut out);
    let read = VaultMessage::decode(written.method(), &mut Reader::new(out.as_slice()));
    let Ok(Some(VaultMessage::Open { owner, limit })) = read else {
        panic!("the numbers differ");
    };
    assert_eq!((owner.as_str(), limit), ("Ada", Some(3)));
}

#[tokio::test]
async fn a_client_that_knows_the_interface_alone_reaches_the_actor() {
    let service = Node::new();
    service.export("bank", &Vault.spawn()).unwrap();
    let address = service.listen("inproc://interface").await.unwrap();
    let client = Node::new();
    let address = format!("{address}/bank");
    let bank = Box::pin(client.actor::<BankInterface>(&address)).await;
    let bank = bank.unwrap();
    assert_eq!(bank.balance(4).ask().await.unwrap(), 4);
    let refused = bank.open("Ada".into(), Some(1)).ask().await.unwrap();
    assert_eq!(refused, Err("Ada has one already".into()));
    bank.note("n", &[1, 2]).ask().await.unwrap();
}

struct Old;

#[wigwag::actor]
impl Old {
    /// Superseded.
    #[deprecated = "call something else"]
    pub fn old(&self) -> u8 {
        let _ = self;
        1
    }
}

#[tokio::test]
async fn a_deprecated_call_is_answered_and_says_so_to_callers() {
    let old = Old.spawn();
    #[expect(deprecated, reason = "the test calls a deprecated method on purpose")]
    let call = old.old();
    assert_eq!(call.ask().await.unwrap(), 1);
}
