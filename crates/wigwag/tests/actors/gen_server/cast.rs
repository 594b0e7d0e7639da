//! Tells: to one server, to a group, to an unknown name, with a deaf peer about. Mail from other
//! processes consists of tells too: calls are the only kind of message.

use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use wigwag::registry::{find, register};
use wigwag::{
    CallErrorKind, Local, Reason,
    groups::{Groups, TellAllReport},
    lifecycle::Alive,
};

use super::server::{Server, apart, ended, is_gone, server, soon};

/// gen_server_SUITE: cast, info. A tell is handled in its turn and has no answer; one of these
/// tells ends the server, whose hook reports it; the tells behind that one are not handled.
#[tokio::test]
async fn a_tell_is_handled_in_its_turn() {
    let (server, mut said) = server();
    server.note("handled").tell().await.unwrap();
    assert_eq!(said.next().await, "handled");
    // A tell of a call that has an answer, which is discarded.
    server.number(1).tell().await.unwrap();
    server.note("first").try_tell().unwrap();
    server.stop(Local(Reason::Normal)).try_tell().unwrap();
    server.note("behind").try_tell().unwrap();
    assert_eq!(said.rest().await, ["first", "stopped, it was done", "dropped"]);
    assert_eq!(ended(&server).await, Reason::Normal);
    is_gone(&server).await;
}

/// gen_server_SUITE: cast, info. A tell that starts work: the result arrives later, as a tell of
/// its own.
#[tokio::test(start_paused = true)]
async fn a_tell_may_have_its_work_done_later() {
    let (server, _said) = server();
    server.delayed(1, 10).tell().await.unwrap();
    assert!(!server.is_wanted(1).ask().await.unwrap(), "nobody waits for the answer of a tell");
    assert!(server.visit(|server| server.owed.contains_key(&1)).await.unwrap());
    tokio::time::sleep(std::time::Duration::from_millis(11)).await;
    assert!(server.visit(|server| server.owed.is_empty()).await.unwrap());
}

/// gen_server_SUITE: call, cast. Tells and asks of one sender are handled in the order in which
/// they were made, by a local server and by a remote one.
#[tokio::test]
async fn tells_and_asks_keep_their_order() {
    let (local, mut said) = server();
    let (_service, _client, there, _) = apart(&local).await;
    for server in [&local, &there] {
        // Half of the answers are awaited at once, the others at the end; each ask is kept until
        // then, since dropping it gives it up.
        let (mut expected, mut later) = (Vec::new(), Vec::new());
        for round in 0..50 {
            let words =
                [format!("before {round}"), format!("asked {round}"), format!("behind {round}")];
            server.note(&words[0]).tell().await.unwrap();
            let asked = soon(server.say_and_answer(&words[1], round).ask().sent()).await.unwrap();
            server.note(&words[2]).tell().await.unwrap();
            if round % 2 == 0 {
                assert_eq!(soon(asked).await.unwrap(), round);
            } else {
                later.push((round, asked));
            }
            expected.extend(words);
        }
        soon(server.number(0).ask()).await.unwrap();
        assert_eq!(said.by_now(), expected);
        for (round, asked) in later {
            assert_eq!(soon(asked).await.unwrap(), round);
        }
    }
}

/// gen_server_SUITE: cast_fast. A tell never waits for a peer: a peer that accepts connections and
/// sends nothing delays no tells to another peer, and a lookup at the deaf peer takes no longer
/// than the limit for a handshake.
#[tokio::test]
async fn a_deaf_peer_holds_up_no_tell() {
    let deaf = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}/hopp", deaf.local_addr().unwrap());
    let (local, mut said) = server();
    let (_service, client, there, _) = apart(&local).await;
    let client = Arc::new(client);
    let looking = client.clone();
    let looks = tokio::spawn(async move { looking.actor::<Server>(&address).await.map(|_| ()) });
    let (mut dialer, _) = deaf.accept().await.unwrap();
    let mut header = [0; 8];
    dialer.read_exact(&mut header).await.unwrap();
    assert!(!looks.is_finished());
    // No future is involved: the tell is sent, or it comes back.
    there.note("handled").try_tell().unwrap();
    assert_eq!(said.next().await, "handled");
    assert!(!looks.is_finished());
    drop(dialer);
    assert!(soon(looks).await.unwrap().is_err());
}

/// gen_server_SUITE: cast_fast. A tell to a server whose node is gone comes back at once.
#[tokio::test]
async fn a_tell_to_a_node_that_is_gone_comes_back() {
    let (local, _said) = server();
    let (service, client, there, _) = apart(&local).await;
    service.close(std::time::Duration::from_secs(5)).await;
    client.close(std::time::Duration::from_secs(5)).await;
    drop(service);
    let refused = there.note("late").try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NotDelivered);
}

/// gen_server_SUITE: abcast. One tell to all members of a group, some of which have ended; and one
/// tell by name.
#[tokio::test]
async fn a_tell_to_a_group_reaches_all_members_but_those_that_have_ended() {
    let servers: Vec<_> = (0..4).map(|_| server()).collect();
    let group = Groups::<Server>::new();
    for (server, _) in &servers {
        group.join("servers", server).unwrap();
    }
    let tell_all = |name: &str| group.tell_all(name, |server| server.note("handled"));
    assert_eq!(tell_all("servers"), TellAllReport { sent: 4, refused: 0 });
    servers[0].0.handle().unwrap().kill();
    assert_eq!(tell_all("servers"), TellAllReport { sent: 3, refused: 0 });
    assert_eq!(tell_all("nobody"), TellAllReport { sent: 0, refused: 0 });
    register("abcast", &servers[1].0).unwrap();
    find::<Server>("abcast").unwrap().stop(Local(Reason::Normal)).tell().await.unwrap();
    for (at, (server, said)) in servers.into_iter().enumerate() {
        group.leave("servers", &server);
        drop(server);
        let words = said.rest().await;
        let expected: usize = if at == 0 { 1 } else { 2 };
        assert!(words.iter().filter(|word| *word == "handled").count() <= expected, "{words:?}");
        assert_eq!(at == 0, !words.contains(&"stopped, it was done".to_owned()), "{words:?}");
    }
}
