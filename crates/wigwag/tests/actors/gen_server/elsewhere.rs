//! Calls to remote servers that do not exist or have ended: by address and by reference.

use wigwag::{CallErrorKind, NodeError, lifecycle::Alive};

use super::server::{Server, apart, ended, failure, is_way_gone, ms, server, soon};

/// gen_server_SUITE: call_remote1, call_remote3. By address: the server answers, and once it has
/// been killed its name is unknown.
#[tokio::test]
async fn a_server_that_was_killed_is_not_found_by_its_address() {
    let (local, _said) = server();
    let (_service, client, _there, address) = apart(&local).await;
    let found = soon(client.actor::<Server>(&address)).await.unwrap();
    assert_eq!(soon(found.number(1).ask()).await.unwrap(), 1);
    local.handle().unwrap().kill();
    ended(&local).await;
    let outcome = soon(client.actor::<Server>(&address)).await;
    let kind = match outcome {
        Ok(found) => failure(found.number(1).ask()).await,
        Err(NodeError::Call(error)) => error.kind,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(kind, CallErrorKind::NoSuchActor);
    let unknown = soon(client.actor::<Server>(&address.replace("/server", "/nobody"))).await;
    let Err(NodeError::Call(error)) = unknown.map(|_| ()) else { panic!("nobody has the name") };
    assert_eq!(error.kind, CallErrorKind::NoSuchActor);
}

/// gen_server_SUITE: call_remote2. By reference: asks under way and later ones fail because the
/// server has ended, as they do in one process.
#[tokio::test]
async fn a_reference_to_a_server_that_was_killed_says_so() {
    let (local, mut said) = server();
    let (_service, _client, there, _) = apart(&local).await;
    assert_eq!(soon(there.number(1).ask()).await.unwrap(), 1);
    there.note("comes").tell().await.unwrap();
    let under_way = soon(there.hang().ask().sent()).await.unwrap();
    let behind = soon(there.number(2).ask().sent()).await.unwrap();
    assert_eq!(said.next().await, "comes");
    local.handle().unwrap().kill();
    assert_eq!(soon(under_way).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(soon(behind).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(failure(there.number(1).ask()).await, CallErrorKind::ActorStopped);
}

/// gen_server_SUITE: call_remote_n1, call_remote_n3. The whole node is gone: a lookup of a server
/// there fails, and the error names the place.
#[tokio::test]
async fn a_node_that_is_gone_is_not_found() {
    let (local, _said) = server();
    let (service, client, _there, address) = apart(&local).await;
    service.close(ms(5000)).await;
    drop(service);
    let error = soon(client.actor::<Server>(&address)).await.map(|_| ()).unwrap_err();
    let place = address.trim_start_matches("tcp://").trim_end_matches("/server");
    assert!(error.to_string().contains(place), "{error}");
}

/// gen_server_SUITE: call_remote_n2. By reference: the ask under way ends, a later ask fails, and
/// neither waits.
#[tokio::test]
async fn a_reference_to_a_node_that_is_gone_says_so() {
    let (local, _said) = server();
    let (service, _client, there, _) = apart(&local).await;
    let under_way = soon(there.owe(1).ask().sent()).await.unwrap();
    service.close(ms(10)).await;
    drop(service);
    let kind = soon(under_way).await.unwrap_err().kind;
    assert!(is_way_gone(kind), "{kind:?}");
    let kind = failure(there.number(1).ask()).await;
    assert!(is_way_gone(kind), "{kind:?}");
    assert_eq!(local.number(1).ask().await.unwrap(), 1, "the server itself lives");
}
