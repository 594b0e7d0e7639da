//! Actors that are linked to actors of other processes: each ends with the other.

mod ends;
mod permission;
mod wire;

use std::time::Duration;

use tokio::sync::mpsc;
use wigwag::lifecycle::{Alive, Exit};
use wigwag::{Actor, Life, Node, NodeOptions, Reason, This};
use wigwag_testkit::relay::{Fault, Relay};

use super::PATIENCE;

/// Links itself to partners. It passes on what it is told of their ends if it `survives` them.
struct Partner {
    exits: mpsc::UnboundedSender<Exit>,
    survives: bool,
    partners: Vec<PartnerRef>,
    others: Vec<OtherRef>,
}

/// A part of its interface: a reference with it is attached to after a round trip.
#[wigwag::actor]
trait Other {
    fn let_go(&mut self);
}

#[wigwag::actor(life)]
impl Partner {
    pub fn link(&mut self, partner: PartnerRef, this: &This<Self>) {
        // Twice is once.
        this.link_ref(&partner).unwrap();
        this.link_ref(&partner).unwrap();
        self.partners.push(partner);
    }

    pub fn link_other(&mut self, partner: OtherRef, this: &This<Self>) {
        this.link_ref(&partner).unwrap();
        self.others.push(partner);
    }

    pub fn link_and_fail(&mut self, partner: OtherRef, this: &This<Self>) {
        this.link_ref(&partner).unwrap();
        panic!("the partner has failed");
    }

    pub fn link_briefly(&mut self, partner: PartnerRef, this: &This<Self>) {
        this.link_ref(&partner).unwrap();
        this.unlink_ref(&partner);
        self.partners.push(partner);
    }

    pub fn let_go(&mut self) {
        self.partners.clear();
    }

    pub fn fail(&self) {
        panic!("the partner has failed");
    }
}

impl Life for Partner {
    fn exited(&mut self, _: &This<Partner>, exit: Exit) -> Result<(), Reason> {
        let reason = exit.reason.clone();
        let _ = self.exits.send(exit);
        match self.survives || reason.is_wanted() {
            true => Ok(()),
            false => Err(Reason::Linked(reason.into())),
        }
    }
}

type Exits = mpsc::UnboundedReceiver<Exit>;

fn partner(survives: bool) -> (PartnerRef, Exits) {
    let (exits, told) = mpsc::unbounded_channel();
    (Partner { exits, survives, partners: Vec::new(), others: Vec::new() }.spawn(), told)
}

/// A partner at a service, and the reference to it of a client, over a relay.
async fn stage(survives: bool) -> (Node, Node, Relay, PartnerRef, PartnerRef, Exits) {
    let options =
        || NodeOptions::default().keep_sessions(Duration::from_secs(1)).accept_links(true);
    let (service, client) = (Node::with(options()), Node::with(options()));
    let (here, exits) = partner(survives);
    service.export("partner", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let there = client.actor::<Partner>(&format!("{}/partner", relay.address)).await.unwrap();
    (service, client, relay, here, there, exits)
}

async fn ended(partner: &PartnerRef) -> Reason {
    let ended = partner.handle().unwrap();
    tokio::time::timeout(PATIENCE, ended.ended()).await.unwrap()
}

/// A call and its answer between the nodes, so that what was sent before has come.
async fn synchronize(here: &PartnerRef, there: &PartnerRef) {
    for partner in [there, here, there] {
        partner.let_go().ask().await.unwrap();
    }
}

#[tokio::test]
async fn an_actor_ends_with_one_of_another_process_that_it_is_linked_to() {
    let (_service, _client, _relay, here, there, mut exits) = stage(false).await;
    let (failing, _) = partner(true);
    there.link(failing.clone()).ask().await.unwrap();
    failing.fail().tell().await.unwrap();
    let Reason::Linked(why) = ended(&here).await else { panic!("it is linked") };
    assert_eq!(*why, Reason::Panicked("the partner has failed".into()));
    let exit = exits.recv().await.unwrap();
    assert!(exit.actor.is_none() && exit.target.contains("reference-"), "{}", exit.target);
    assert!(exits.recv().await.is_none(), "two links are one");
}

#[tokio::test]
async fn a_wanted_end_and_a_link_that_was_removed_end_nobody() {
    let (_service, _client, _relay, here, there, mut exits) = stage(false).await;
    let (stopped, _) = partner(true);
    let (unlinked, _) = partner(true);
    there.link_briefly(unlinked.clone()).ask().await.unwrap();
    there.link(stopped.clone()).ask().await.unwrap();
    unlinked.fail().tell().await.unwrap();
    ended(&unlinked).await;
    stopped.handle().unwrap().stop();
    let exit = tokio::time::timeout(PATIENCE, exits.recv()).await.unwrap().unwrap();
    assert_eq!(exit.reason, Reason::Shutdown);
    assert!(here.handle().unwrap().reason().is_none());
}

/// Its peer has forgotten the link although it still holds the reference, so the end of the session is
/// no end of a linked actor.
#[tokio::test]
async fn a_link_that_was_removed_is_none_when_the_session_ends() {
    let (_service, _client, relay, _here, there, _) = stage(true).await;
    let (unlinked, mut of_unlinked) = partner(true);
    let (linked, mut of_linked) = partner(true);
    there.link_briefly(unlinked.clone()).ask().await.unwrap();
    there.link(linked.clone()).ask().await.unwrap();
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::End);
    // Told in the order of the links.
    let exit = tokio::time::timeout(PATIENCE, of_linked.recv()).await.unwrap().unwrap();
    assert!(matches!(exit.reason, Reason::Unreachable(_)), "{:?}", exit.reason);
    assert!(of_unlinked.try_recv().is_err());
    assert!(unlinked.handle().unwrap().reason().is_none());
}

#[tokio::test]
async fn actors_that_are_linked_end_with_their_session() {
    let (_service, _client, relay, here, there, _) = stage(false).await;
    let (client_side, _) = partner(false);
    there.link(client_side.clone()).ask().await.unwrap();
    synchronize(&here, &there).await;
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::End);
    for partner in [&here, &client_side] {
        let Reason::Linked(why) = ended(partner).await else { panic!("it is linked") };
        assert!(matches!(*why, Reason::Unreachable(_)), "{why}");
    }
}

/// An actor that has ended before is told of at once.
#[tokio::test]
async fn a_link_to_an_actor_that_has_ended_ends_the_other_one() {
    let (_service, _client, _relay, here, there, _) = stage(false).await;
    here.handle().unwrap().kill();
    ended(&here).await;
    while there.fail().ask().await.is_ok() {}
    let (late, _) = partner(false);
    late.link(there).ask().await.unwrap();
    let Reason::Linked(why) = ended(&late).await else { panic!("it is linked") };
    assert_eq!(*why, Reason::Killed);
}
