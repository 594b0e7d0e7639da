//! The end of the actor that has made a link reaches the other one.

use std::time::Duration;

use tokio::time::timeout;
use wigwag::access::Principal;
use wigwag::lifecycle::{Alive, Exit};
use wigwag::session::SessionChange;
use wigwag::{Node, NodeOptions, Reason};
use wigwag_testkit::child::{self, Child};
use wigwag_testkit::relay::Fault;

use super::super::PATIENCE;
use super::{Exits, Partner, PartnerRef, ended, partner, stage, synchronize};

/// A way in which an actor ends.
type End = fn(&PartnerRef);

async fn next(exits: &mut Exits) -> Exit {
    timeout(PATIENCE, exits.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_actor_ends_with_one_of_another_process_that_has_linked_itself_to_it() {
    let (_service, _client, _relay, here, there, _) = stage(true).await;
    let (linked, mut exits) = partner(false);
    there.link(linked.clone()).ask().await.unwrap();
    here.fail().tell().await.unwrap();
    let Reason::Linked(why) = ended(&linked).await else { panic!("it is linked") };
    assert_eq!(*why, Reason::Panicked("the partner has failed".into()));
    let exit = next(&mut exits).await;
    assert!(exit.actor.is_none() && exit.target.ends_with("/Partner"), "{}", exit.target);
    let peer = exit.peer.unwrap();
    assert_eq!((peer.principal, peer.node), (Principal::Anonymous, None));
    assert!(exits.recv().await.is_none(), "two links are one");
}

#[tokio::test]
async fn each_way_in_which_an_actor_ends_is_told_with_its_reason() {
    let (service, client, relay, _here, _there, _) = stage(true).await;
    let (linked, mut exits) = partner(true);
    let ends: [(End, Reason); 3] = [
        (|partner| assert!(partner.handle().unwrap().kill()), Reason::Killed),
        (|partner| assert!(partner.handle().unwrap().stop()), Reason::Shutdown),
        // Only its export keeps it.
        (|_| {}, Reason::Normal),
    ];
    for (number, (end, reason)) in ends.into_iter().enumerate() {
        let (other, _) = partner(true);
        let name = format!("other-{number}");
        service.export(&name, &other).unwrap();
        let address = format!("{}/{name}", relay.address);
        let linking = client.actor::<Partner>(&address).await.unwrap();
        linking.link(linked.clone()).ask().await.unwrap();
        drop(linking);
        end(&other);
        drop(other);
        service.withdraw(&name);
        assert_eq!(next(&mut exits).await.reason, reason);
    }
    assert!(linked.handle().unwrap().reason().is_none(), "it survives them");
}

#[tokio::test]
async fn a_link_that_was_removed_is_removed_in_both_directions() {
    let (_service, client, relay, here, there, _) = stage(true).await;
    let (linked, mut exits) = partner(true);
    there.link_briefly(linked.clone()).ask().await.unwrap();
    here.handle().unwrap().kill();
    ended(&here).await;
    // The end of the export is told behind that of the link.
    while there.let_go().ask().await.is_ok() {}
    linked.let_go().ask().await.unwrap();
    assert!(exits.try_recv().is_err());
    // Nor is the end of the session told.
    let mut events = client.session_events();
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::End);
    let over = async {
        while !matches!(events.next().await.unwrap().what, SessionChange::Ended { .. }) {}
    };
    timeout(PATIENCE, over).await.unwrap();
    linked.let_go().ask().await.unwrap();
    assert!(exits.try_recv().is_err());
}

/// The actor that has made it drops its reference, and still ends the other one.
#[tokio::test]
async fn a_link_lasts_without_another_reference() {
    let (_service, _client, _relay, here, there, _) = stage(true).await;
    let (linked, _) = partner(false);
    there.link(linked.clone()).ask().await.unwrap();
    synchronize(&here, &there).await;
    let handle = linked.handle().unwrap();
    drop(linked);
    synchronize(&here, &there).await;
    assert!(handle.reason().is_none(), "the link holds a reference");
    here.fail().tell().await.unwrap();
    let Reason::Linked(_) = timeout(PATIENCE, handle.ended()).await.unwrap() else { panic!() };
}

#[tokio::test]
async fn the_end_of_a_session_is_told_to_both_ends_once() {
    for is_closed in [false, true] {
        let (_service, client, relay, here, there, mut exits) = stage(true).await;
        let (linked, mut told) = partner(true);
        there.link(linked.clone()).ask().await.unwrap();
        synchronize(&here, &there).await;
        if is_closed {
            client.close(PATIENCE).await;
        } else {
            relay.lead_to("127.0.0.1:1");
            relay.strike(Fault::End);
        }
        for exits in [&mut exits, &mut told] {
            let reason = next(exits).await.reason;
            match is_closed {
                true => assert_eq!(reason, Reason::NodeClosed),
                false => assert!(matches!(reason, Reason::Unreachable(_)), "{reason}"),
            }
        }
        // Neither is told of the other one's end behind that of the session.
        for (partner, exits) in [(&here, &mut exits), (&linked, &mut told)] {
            partner.handle().unwrap().kill();
            ended(partner).await;
            assert!(exits.try_recv().is_err());
        }
    }
}

/// Each of its links is one, although the links of an actor have one number on all channels.
#[tokio::test]
async fn an_actor_with_several_links_over_a_session_is_told_of_its_end_for_each() {
    let (service, client, relay, _here, there, _) = stage(true).await;
    let (other, _) = partner(true);
    service.export("other", &other).unwrap();
    let address = format!("{}/other", relay.address);
    let other = client.actor::<Partner>(&address).await.unwrap();
    let (own, mut exits) = partner(true);
    for linked in [&there, &other] {
        own.link(linked.clone()).ask().await.unwrap();
        // Behind the link.
        linked.let_go().ask().await.unwrap();
    }
    service.close(PATIENCE).await;
    let mut targets = Vec::new();
    for _ in 0..2 {
        let exit = next(&mut exits).await;
        assert_eq!(exit.reason, Reason::NodeClosed);
        targets.push(exit.target.rsplit('/').next().unwrap().to_owned());
    }
    targets.sort();
    assert_eq!(targets, ["other", "partner"]);
}

/// Over a cut that is resumed the link stays, and the end that falls into it is told.
#[tokio::test]
async fn an_end_during_a_cut_is_told_after_it() {
    let (_service, _client, relay, here, there, _) = stage(true).await;
    let (linked, mut exits) = partner(true);
    there.link(linked.clone()).ask().await.unwrap();
    let target = relay.target();
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::End);
    here.handle().unwrap().kill();
    ended(&here).await;
    assert!(exits.try_recv().is_err());
    relay.lead_to(&target);
    assert_eq!(next(&mut exits).await.reason, Reason::Killed);
}

/// A process with an actor that links itself to the one at the address in its role.
#[tokio::test]
async fn links_itself_and_waits() {
    let Some(address) = child::role() else { return };
    let node = Node::new();
    let (own, _exits) = partner(true);
    let there = node.actor::<Partner>(&format!("{address}/partner")).await.unwrap();
    own.link(there.clone()).ask().await.unwrap();
    // Behind LINK on its way.
    there.let_go().ask().await.unwrap();
    child::say("linked");
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_ends_when_a_process_with_a_linked_one_is_killed() {
    let options = NodeOptions::default().keep_sessions(Duration::from_secs(1)).accept_links(true);
    let service = Node::with(options);
    let (linked, _) = partner(false);
    service.export("partner", &linked).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    let start = move || Child::start("references::links::ends::links_itself_and_waits", &bound);
    let mut child = tokio::task::spawn_blocking(start).await.unwrap();
    assert!(linked.handle().unwrap().reason().is_none());
    child.kill();
    let Reason::Linked(why) = ended(&linked).await else { panic!("it is linked") };
    assert!(matches!(*why, Reason::Unreachable(_)), "{why}");
}
