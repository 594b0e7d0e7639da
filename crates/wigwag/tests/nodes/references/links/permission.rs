//! A node says which peers may link their actors to its own.

use std::time::Duration;

use tokio::time::timeout;
use wigwag::access::{Access, Peers, Principal, SharedKey};
use wigwag::lifecycle::Alive;
use wigwag::{Node, NodeOptions, Reason};

use super::super::PATIENCE;
use super::{OtherRef, Partner, PartnerRef, partner};

/// The first exit that an actor is told of which links itself to `there`, or `None` after a call and
/// its answer.
async fn refused(there: &PartnerRef) -> Option<Reason> {
    let (own, mut exits) = partner(true);
    own.link(there.clone()).ask().await.unwrap();
    there.let_go().ask().await.unwrap();
    own.let_go().ask().await.unwrap();
    exits.try_recv().ok().map(|exit| exit.reason)
}

fn is_refusal(reason: Option<Reason>) -> bool {
    matches!(reason, Some(Reason::LinkRefused(why)) if why.contains("accept_links"))
}

#[tokio::test]
async fn a_node_accepts_no_links_unless_it_is_told_to() {
    let service = Node::new();
    let (here, mut exits) = partner(false);
    service.export("partner", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let there = client.actor::<Partner>(&format!("{bound}/partner")).await.unwrap();
    assert!(is_refusal(refused(&there).await));
    // Without `exited`, the actor that wanted to be linked ends.
    let (own, _) = partner(false);
    own.link(there.clone()).ask().await.unwrap();
    let ended = timeout(PATIENCE, own.handle().unwrap().ended()).await.unwrap();
    assert!(matches!(ended, Reason::Linked(_)), "{ended}");
    there.let_go().ask().await.unwrap();
    assert!(exits.try_recv().is_err(), "the other one is not linked");
}

#[tokio::test]
async fn a_rule_lets_one_identity_link_to_one_actor() {
    let [friend, other] = ["friend", "other"].map(SharedKey::generate);
    let access = Access::new()
        .allow(Peers::Authenticated, "partner")
        .allow(Peers::Authenticated, "second")
        .allow_links(Principal::key("friend"), "partner")
        // It may not be called, so it is not there.
        .allow_links(Principal::key("friend"), "hidden");
    let keys = [friend.clone(), other.clone()];
    let service = Node::with(NodeOptions::default().accept_keys(keys).access(access));
    let (here, _) = partner(true);
    for name in ["partner", "second", "hidden"] {
        service.export(name, &here).unwrap();
    }
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    for (key, name, may_link) in
        [(&friend, "partner", true), (&friend, "second", false), (&other, "partner", false)]
    {
        let client = Node::with(NodeOptions::default().shared_key(key.clone()));
        let there = client.actor::<Partner>(&format!("{bound}/{name}")).await.unwrap();
        let reason = refused(&there).await;
        assert_eq!(is_refusal(reason.clone()), !may_link, "{name}: {reason:?}");
    }
    let client = Node::with(NodeOptions::default().shared_key(friend));
    assert!(client.actor::<Partner>(&format!("{bound}/hidden")).await.is_err());
}

/// A reference that has come and is not attached yet: the link waits, and is refused or made.
#[tokio::test]
async fn a_link_waits_for_the_channel_of_its_reference() {
    for accepts in [false, true] {
        let options = || NodeOptions::default().keep_sessions(Duration::from_secs(1));
        let service = Node::with(options());
        let client = Node::with(options().accept_links(accepts));
        let (here, mut exits) = partner(true);
        service.export("partner", &here).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
        let there = client.actor::<Partner>(&format!("{bound}/partner")).await.unwrap();
        let (linked, mut told) = partner(true);
        there.link_other(OtherRef::from(&linked)).ask().await.unwrap();
        if !accepts {
            let exit = timeout(PATIENCE, exits.recv()).await.unwrap().unwrap();
            assert!(is_refusal(Some(exit.reason)));
            continue;
        }
        // Until the channel is there, and the link with it.
        let linked = client.find::<Partner>("nobody").await;
        assert!(linked.is_err() && exits.try_recv().is_err());
        here.handle().unwrap().kill();
        let exit = timeout(PATIENCE, told.recv()).await.unwrap().unwrap();
        assert_eq!(exit.reason, Reason::Killed);
    }
}

/// The actor fails before its link has a channel; the other one is told when there is one.
#[tokio::test]
async fn an_actor_that_fails_at_once_ends_the_one_that_it_has_linked_itself_to() {
    let (service, client) = (Node::new(), Node::with(NodeOptions::default().accept_links(true)));
    let (here, _) = partner(true);
    service.export("partner", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Partner>(&format!("{bound}/partner")).await.unwrap();
    let (linked, mut told) = partner(true);
    there.link_and_fail(OtherRef::from(&linked)).tell().await.unwrap();
    let exit = timeout(PATIENCE, told.recv()).await.unwrap().unwrap();
    assert_eq!(exit.reason, Reason::Panicked("the partner has failed".into()));
}
