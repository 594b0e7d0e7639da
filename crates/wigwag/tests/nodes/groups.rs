//! Groups whose members live in this process and in others.

use std::sync::Arc;
use std::time::Duration;

use wigwag::groups::{Change, ChangeKind, Changes, GroupError, Groups, TellAllReport};
use wigwag::lifecycle::Alive;
use wigwag::session::{SessionChange, SessionEvents};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_actor::limits::WATCHERS_MAX;
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::relay::{Fault, Relay};

use super::sessions::ends::next;
use super::sessions::{NOWHERE, PATIENCE};

/// How long a listener keeps a session here.
const KEPT: Duration = Duration::from_millis(300);

struct Member(u64);

#[wigwag::actor]
impl Member {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.0 += amount;
        self.0
    }
}

/// A node with the actors `one` and `two`, and a relay to it.
struct Site {
    node: Node,
    one: MemberRef,
    two: MemberRef,
    relay: Relay,
}

impl Site {
    async fn new() -> Site {
        let node = Node::with(NodeOptions::default().name("site").keep_sessions(KEPT));
        let (one, two) = (Member(0).spawn(), Member(0).spawn());
        node.export("one", &one).unwrap();
        node.export("two", &two).unwrap();
        let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
        Site { node, one, two, relay: Relay::to(&bound.to_string()).await }
    }

    fn address(&self, name: &str) -> String {
        format!("{}/{name}", self.relay.address)
    }

    async fn cut(&self, events: &mut SessionEvents) {
        self.relay.lead_to(NOWHERE);
        self.relay.strike(Fault::Reset);
        next(events, |change| matches!(change, SessionChange::Cut { .. })).await;
    }
}

/// The addresses of the members, and the type of those of this process.
fn named(members: &[MemberRef]) -> Vec<Arc<str>> {
    members
        .iter()
        .map(|member| AsRef::<wigwag::Ref<Member>>::as_ref(member).target().clone())
        .collect()
}

async fn change(changes: &mut Changes<Member>) -> (String, ChangeKind, Vec<Arc<str>>) {
    let Change { group, kind, members, .. } = in_time(PATIENCE, changes.next()).await.unwrap();
    (group.to_string(), kind, named(&members))
}

fn left(group: &str, members: &[MemberRef]) -> (String, ChangeKind, Vec<Arc<str>>) {
    (group.to_owned(), ChangeKind::Left, named(members))
}

/// `process_owner_check` of `pg_SUITE`, with the opposite answer: members of other processes join too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_this_and_other_processes_join_leave_and_are_told_together() {
    let (site, client, groups) = (Site::new().await, Node::new(), Groups::<Member>::new());
    let local = Member(0).spawn();
    let one = client.actor::<Member>(&site.address("one")).await.unwrap();
    let again = client.actor::<Member>(&site.address("one")).await.unwrap();
    let two = client.actor::<Member>(&site.address("two")).await.unwrap();
    let (_, mut changes) = groups.subscribe("all").unwrap();
    groups.join_all("all", &[one.clone(), local.clone(), two.clone()]).unwrap();
    groups.join("all", &again).unwrap();
    let joined = [one.clone(), local.clone(), two.clone()];
    assert_eq!(change(&mut changes).await, ("all".into(), ChangeKind::Joined, named(&joined)));
    assert_eq!(change(&mut changes).await.2, named(std::slice::from_ref(&one)));
    let report = groups.tell_all("all", |member| member.add(1));
    assert_eq!(report, TellAllReport { sent: 4, refused: 0 });
    for (member, sum) in [(&one, 2), (&local, 1), (&two, 1), (&site.one, 2), (&site.two, 1)] {
        assert_eq!(member.add(0).ask().await.unwrap(), sum);
    }
    // If an actor is in the group twice, the later membership ends first.
    assert!(groups.leave("all", &one));
    assert_eq!(named(&groups.members("all")), named(&joined));
    assert!(groups.leave("all", &again) && !groups.leave("all", &again));
    assert_eq!(groups.leave_all("all", &[two.clone(), two.clone(), one.clone()]), 1);
    assert_eq!(named(&groups.members("all")), named(std::slice::from_ref(&local)));
    for of in [&one, &one, &two] {
        assert_eq!(change(&mut changes).await, left("all", std::slice::from_ref(of)));
    }
    assert!(changes.try_next().is_none());

    let returning = client.actor::<Member>(&site.address("one")).reconnecting().await.unwrap();
    groups.join("all", &one).unwrap();
    assert!(!groups.leave("all", &returning), "it is a member of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_remote_actor_is_a_change_of_each_of_its_groups_and_of_no_other_member() {
    let (site, client, groups) = (Site::new().await, Node::new(), Groups::<Member>::new());
    let one = client.actor::<Member>(&site.address("one")).await.unwrap();
    let two = client.actor::<Member>(&site.address("two")).await.unwrap();
    let other = Groups::<Member>::new();
    groups.join_all("a", &[one.clone(), two.clone(), one.clone()]).unwrap();
    groups.join("b", &one).unwrap();
    other.join("a", &one).unwrap();
    let ((_, mut changes), (_, mut others)) =
        (groups.subscribe_to_all().unwrap(), other.subscribe("a").unwrap());
    site.one.handle().unwrap().kill();
    let twice = [one.clone(), one.clone()];
    assert_eq!(change(&mut changes).await, left("a", &twice));
    assert_eq!(change(&mut changes).await, left("b", &twice[..1]));
    assert_eq!(change(&mut others).await, left("a", &twice[..1]));
    assert_eq!(named(&groups.members("a")), named(std::slice::from_ref(&two)));
    assert_eq!((groups.groups(), other.groups()), (vec!["a".into()], vec![]));
    assert_eq!(groups.join_all("a", &[two.clone(), one]), Err(GroupError::Ended));
    assert_eq!(groups.tell_all("a", |member| member.add(3)), TellAllReport { sent: 1, refused: 0 });
    assert_eq!(two.add(0).ask().await.unwrap(), 3);
    assert!(changes.try_next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_stay_while_their_session_is_cut_and_leave_when_it_is_given_up() {
    let (site, groups) = (Site::new().await, Groups::<Member>::new());
    let client = Node::with(NodeOptions::default().keep_sessions(KEPT));
    let mut events = client.session_events();
    let local = Member(0).spawn();
    let one = client.actor::<Member>(&site.address("one")).await.unwrap();
    let two = client.actor::<Member>(&site.address("two")).await.unwrap();
    let all = [local.clone(), one.clone(), two.clone()];
    groups.join_all("all", &all).unwrap();
    let (_, mut changes) = groups.subscribe("all").unwrap();
    site.cut(&mut events).await;
    assert_eq!(named(&groups.members("all")), named(&all));
    assert_eq!(groups.tell_all("all", |member| member.add(1)).sent, 3, "two of them wait");
    assert!(changes.try_next().is_none());
    for of in [&one, &two] {
        assert_eq!(change(&mut changes).await, left("all", std::slice::from_ref(of)));
    }
    assert_eq!(named(&groups.members("all")), named(std::slice::from_ref(&local)));
    assert_eq!(groups.join("all", &one), Err(GroupError::Ended));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_leave_when_their_node_or_ours_is_closed() {
    for ours in [true, false] {
        let (site, client, groups) = (Site::new().await, Node::new(), Groups::<Member>::new());
        let one = client.actor::<Member>(&site.address("one")).await.unwrap();
        groups.join("all", &one).unwrap();
        let (_, mut changes) = groups.subscribe("all").unwrap();
        let closing = if ours { &client } else { &site.node };
        closing.close(PATIENCE).await;
        assert_eq!(change(&mut changes).await, left("all", std::slice::from_ref(&one)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_comes_back_stays_over_a_restart_until_its_node_is_closed_or_dropped() {
    for (close, attached) in [(true, true), (true, false), (false, true), (false, false)] {
        let (first, client, groups) = (Site::new().await, Node::new(), Groups::<Member>::new());
        let mut events = client.session_events();
        let one = client.actor::<Member>(&first.address("one")).reconnecting().await.unwrap();
        groups.join("all", &one).unwrap();
        let (_, mut changes) = groups.subscribe("all").unwrap();
        let relay = first.relay;
        relay.lead_to(NOWHERE);
        first.node.close(PATIENCE).await;
        next(&mut events, |change| matches!(change, SessionChange::Ended { .. })).await;
        assert_eq!(groups.members("all").len(), 1);
        let report = groups.tell_all("all", |member| member.add(1));
        assert_eq!(report, TellAllReport { sent: 0, refused: 1 });
        let second = Site::new().await;
        if attached {
            relay.lead_to(&second.relay.address);
            next(&mut events, |change| matches!(change, SessionChange::Reattached { .. })).await;
            assert_eq!(groups.tell_all("all", |member| member.add(1)).sent, 1);
            assert_eq!(one.add(0).ask().await.unwrap(), 1);
        }
        assert!(changes.try_next().is_none());
        if close {
            client.close(PATIENCE).await;
        }
        drop((client, events));
        assert_eq!(change(&mut changes).await, left("all", std::slice::from_ref(&one)));
        assert!(groups.groups().is_empty());
        assert_eq!(groups.join("all", &one), Err(GroupError::Ended));
    }
}

/// The process of the member lives on, and the reference is not called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_comes_back_stays_when_its_actor_stops_and_follows_its_name() {
    let (site, client, groups) = (Site::new().await, Node::new(), Groups::<Member>::new());
    let mut events = client.session_events();
    let one = client.actor::<Member>(&site.address("one")).reconnecting().await.unwrap();
    groups.join("all", &one).unwrap();
    let (_, mut changes) = groups.subscribe("all").unwrap();
    site.one.handle().unwrap().kill();
    site.node.export("one", &Member(7).spawn()).unwrap();
    next(&mut events, |change| matches!(change, SessionChange::Reattached { .. })).await;
    assert_eq!(groups.tell_all("all", |member| member.add(1)).sent, 1);
    assert_eq!(one.add(0).ask().await.unwrap(), 8);
    assert!(changes.try_next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scopes_that_watch_a_remote_actor_are_bounded_and_one_that_it_leaves_makes_room() {
    let (site, client) = (Site::new().await, Node::new());
    let one = client.actor::<Member>(&site.address("one")).await.unwrap();
    let two = client.actor::<Member>(&site.address("two")).await.unwrap();
    let back = client.actor::<Member>(&site.address("two")).reconnecting().await.unwrap();
    for member in [one, back] {
        let scope = || {
            let groups = Groups::<Member>::new();
            groups.join("all", &member).map(|()| groups)
        };
        let mut scopes: Vec<_> = (0..WATCHERS_MAX).map(|_| scope().unwrap()).collect();
        assert_eq!(scope().map(drop), Err(GroupError::TooManyWatchers));
        let late = Groups::<Member>::new();
        let both = [two.clone(), member.clone()];
        for _ in 0..=WATCHERS_MAX {
            // A watch that stayed on the first of them would count.
            let failed = Groups::<Member>::new().join_all("all", &both);
            assert_eq!(failed, Err(GroupError::TooManyWatchers));
        }
        assert_eq!(late.join_all("all", &both), Err(GroupError::TooManyWatchers));
        assert!(late.groups().is_empty(), "none has joined");
        assert!(scopes[0].leave("all", &member));
        late.join_all("all", &both).unwrap();
        assert_eq!(scope().map(drop), Err(GroupError::TooManyWatchers));
        drop(scopes.pop());
        scope().unwrap();
    }
}
