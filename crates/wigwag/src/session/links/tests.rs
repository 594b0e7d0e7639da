//! A session counts the links of its own actors until each way in which one ends.

use tokio::sync::mpsc;

use super::*;
use crate::lifecycle::{Alive, Exit};
use crate::session::EndKind;
use crate::session::tests::session_of;
use crate::{Actor, Life, Node, NodeOptions, This};

/// Passes on the ends that it is told of.
struct Partner(mpsc::UnboundedSender<Exit>);

#[wigwag::actor(life)]
impl Partner {
    pub fn nothing(&self) {}
}

impl Life for Partner {
    fn exited(&mut self, _: &This<Partner>, exit: Exit) -> Result<(), Reason> {
        let _ = self.0.send(exit);
        Ok(())
    }
}

/// A session with a channel to an actor of a node that accepts links.
struct Stage {
    _nodes: [Node; 2],
    _there: PartnerRef,
    session: Arc<Session>,
    channel: AskOrigin,
}

impl Stage {
    async fn new() -> Stage {
        let options = || NodeOptions::default().accept_links(true);
        let nodes = [options(), options()].map(Node::with);
        let [client, service] = &nodes;
        let [session, _] = session_of(client, service).await;
        let partner = Partner(mpsc::unbounded_channel().0).spawn();
        service.export("partner", &partner).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
        let _there = client.actor::<Partner>(&format!("{bound}/partner")).await.unwrap();
        let channel = AskOrigin::new(0, session.sending().channels[0].use_of);
        Stage { _nodes: nodes, _there, session, channel }
    }

    fn link(&self, number: u64) -> Result<(), NotLinked> {
        let link = RemoteLink { number, actor: "own".into(), ended: Arc::new(|_| ()) };
        self.session.link(self.channel, link)
    }

    fn unlink(&self, number: u64) {
        self.session.unlink(self.channel, number, None);
    }

    fn links(&self) -> usize {
        self.session.sending().links
    }
}

#[tokio::test]
async fn a_session_makes_a_bounded_number_of_links() {
    let stage = Stage::new().await;
    let most = LINKS_MAX as u64;
    for number in 0..most {
        assert_eq!(stage.link(number), Ok(()));
    }
    assert_eq!(stage.link(most), Err(NotLinked::TooMany));
    assert_eq!(stage.link(0), Ok(()), "it is there already");
    stage.unlink(0);
    assert_eq!(stage.link(most), Ok(()));
    assert_eq!(stage.link(0), Err(NotLinked::TooMany));
}

#[tokio::test]
async fn a_link_counts_no_more_once_it_is_removed_refused_or_without_its_channel() {
    let stage = Stage::new().await;
    for number in [1, 1, 2, 3] {
        assert_eq!(stage.link(number), Ok(()));
    }
    assert_eq!(stage.links(), 3);
    stage.unlink(1);
    stage.unlink(1);
    assert_eq!(stage.links(), 2);
    let channel = stage.channel.channel();
    let refused = stage.session.sending().links_refused(channel as u64);
    assert_eq!((format!("{refused:?}"), stage.links()), ("EndWatchers(2)".into(), 0));
    assert!(matches!(stage.link(4), Err(NotLinked::Refused(_))));
    stage.unlink(2);
    assert_eq!(stage.links(), 0);
    stage.session.sending().forget_links(channel);
    for number in [4, 5] {
        assert_eq!(stage.link(number), Ok(()), "another use of the channel's number");
    }
    assert_eq!(stage.links(), 2);
    stage.session.sending().forget_links(channel);
    stage.unlink(4);
    assert_eq!(stage.links(), 0);
}

#[tokio::test]
async fn a_link_that_meets_the_end_of_its_session_is_told_of_it_at_both_ends() {
    let stage = Stage::new().await;
    stage.session.end("the peer is gone", EndKind::Lost);
    assert_eq!(stage.link(1), Err(NotLinked::Ended));
    let (exits, mut told) = mpsc::unbounded_channel();
    let linked = Partner(exits).spawn();
    stage.session.linked(0, 1, linked.handle().unwrap(), b"Stranger");
    linked.nothing().ask().await.unwrap();
    let exit = told.try_recv().expect("it is told before its next call");
    assert!(matches!(exit.reason, Reason::Unreachable(_)), "{}", exit.reason);
    assert!(exit.target.ends_with("/Stranger"), "{}", exit.target);
}
