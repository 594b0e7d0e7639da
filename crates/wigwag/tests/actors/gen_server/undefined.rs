//! Calls that a server does not understand. Within a process they do not compile; from a remote
//! caller they are answered with an error, and the server goes on.

use wigwag::{Actor, CallErrorKind, Node, lifecycle::Alive};

use super::server::{Server, ServerRef, apart, server, soon};

/// The server in the view of another program.
struct Older;

#[wigwag::actor]
impl Older {
    pub fn number(&self, number: u64) -> u64 {
        number
    }

    pub fn handle_call(&self, number: u64) -> u64 {
        number
    }

    pub fn note(&self, word: u64) {
        let _ = word;
    }
}

async fn lives(server: &ServerRef) {
    assert_eq!(soon(server.number(7).ask()).await.unwrap(), 7);
    assert!(!server.handle().unwrap().is_ended());
}

/// gen_server_SUITE: undef_handle_call, undef_handle_cast. An unknown method, and arguments of the
/// wrong type: the error tells the caller which it is; a tell is refused where it is made, or
/// discarded; no other caller is affected.
#[tokio::test]
async fn a_call_that_is_not_understood_is_an_error_of_its_caller() {
    let (local, mut said) = server();
    let (_service, client, _there, address) = apart(&local).await;
    let dynamic = soon(client.dynamic(&address)).await.unwrap();
    let unknown = soon(dynamic.ask("handle_call", &[0x90])).await.unwrap_err();
    assert_eq!(unknown.kind, CallErrorKind::NoSuchMethod);
    let unknown = soon(dynamic.tell("handle_cast", &[0x90])).await.unwrap_err();
    assert_eq!(unknown.kind, CallErrorKind::NoSuchMethod);
    for arguments in [&[0x90][..], &[0x91, 0xA1, b'x'], &[0xC1]] {
        let wrong = soon(dynamic.ask("number", arguments)).await.unwrap_err();
        assert_eq!(wrong.kind, CallErrorKind::BadArguments, "{arguments:?}");
        // The outcome of this tell is not reported.
        let _ = soon(dynamic.tell("note", arguments)).await;
        lives(&local).await;
    }
    // The one tell with valid arguments.
    assert_eq!(said.by_now(), ["x"]);
}

/// gen_server_SUITE: undef_handle_call. A program with another version of the interface: methods of
/// both versions work, and a method that only the caller has is an error.
#[tokio::test]
async fn a_caller_of_another_version_hears_what_is_not_understood() {
    let (local, _said) = server();
    let (_service, _client, _there, address) = apart(&local).await;
    let other = Node::new();
    let older = soon(other.actor::<Older>(&address)).await.unwrap();
    assert_eq!(soon(older.number(5).ask()).await.unwrap(), 5);
    let unknown = soon(older.handle_call(1).ask()).await.unwrap_err();
    assert_eq!(unknown.error().kind, CallErrorKind::NoSuchMethod);
    lives(&local).await;
}

/// gen_server_SUITE: undef_handle_info. Mail without a meaning: a message of another actor's type
/// cannot be sent, and a name leads to no actor of another type.
#[tokio::test]
async fn mail_of_another_type_reaches_nobody() {
    let (local, _said) = server();
    wigwag::registry::register("undef_handle_info", &local).unwrap();
    let wrong = wigwag::registry::find::<Older>("undef_handle_info").map(|_| ());
    assert!(matches!(wrong, Err(wigwag::registry::NameError::WrongType { .. })));
    wigwag::registry::unregister("undef_handle_info");
    lives(&local).await;
    let older = Older.spawn();
    assert_eq!(older.handle_call(1).ask().await.unwrap(), 1);
    let (server, _) = Server::new(super::server::Manner::Good);
    drop(server);
}
