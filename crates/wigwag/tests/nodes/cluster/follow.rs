//! Groups of connected nodes are one.

use std::collections::BTreeMap;
use std::time::Duration;

use wigwag::access::{Access, Principal, SharedKey};
use wigwag::groups::{ChangeKind, Changes, Groups};
use wigwag::lifecycle::Alive;
use wigwag::session::SessionChange;
use wigwag::{Node, NodeError, NodeOptions};
use wigwag_testkit::child::{self, Child};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::relay::Fault;

use super::{Member, MemberRef, PATIENCE, behind_relay, listening, member};

/// The numbers of the members, each with how often it is one, as their changes have told.
struct Seen {
    counts: BTreeMap<u64, i64>,
    changes: Changes<Member>,
    /// The numbers of references that have joined: those that have ended cannot be asked.
    known: Vec<(MemberRef, u64)>,
}

impl Seen {
    fn of(scope: &Groups<Member>) -> Seen {
        let (members, changes) = scope.subscribe("all").unwrap();
        assert!(members.is_empty());
        Seen { counts: BTreeMap::new(), changes, known: Vec::new() }
    }

    async fn number(&mut self, member: &MemberRef) -> u64 {
        let is_it = |known: &&(MemberRef, u64)| {
            let [one, other] = [member, &known.0].map(AsRef::<wigwag::Ref<Member>>::as_ref);
            one.target() == other.target()
        };
        match self.known.iter().find(is_it) {
            Some((_, number)) => *number,
            None => {
                let number = member.number().ask().await.unwrap();
                self.known.push((member.clone(), number));
                number
            }
        }
    }

    /// Waits until the members are these, each so often.
    async fn until(&mut self, expected: &[(u64, i64)]) {
        let expected: BTreeMap<_, _> = expected.iter().copied().collect();
        let waits = async {
            while self.counts != expected {
                let change = self.changes.next().await.unwrap();
                let by = if change.kind == ChangeKind::Joined { 1 } else { -1 };
                for member in &change.members {
                    let number = self.number(member).await;
                    let count = self.counts.entry(number).or_default();
                    *count += by;
                    if *count == 0 {
                        self.counts.remove(&number);
                    }
                }
            }
        };
        let done = tokio::time::timeout(PATIENCE, waits).await;
        assert!(done.is_ok(), "{:?} and not {expected:?}", self.counts);
    }
}

fn scope() -> Groups<Member> {
    Groups::new()
}

#[tokio::test]
async fn members_of_a_followed_group_join_and_leave_as_at_their_node() {
    let (service, address) = listening(NodeOptions::default()).await;
    let client = Node::new();
    let (theirs, ours) = (scope(), scope());
    let mut seen = Seen::of(&ours);
    let [one, two] = [1, 2].map(member);
    theirs.join("workers", &one).unwrap();
    service.export_group("shared", &theirs, "workers").unwrap();
    let followed = client.follow_group("shared", &ours, "all").unwrap();
    client.connect(&address).await.unwrap();
    seen.until(&[(1, 1)]).await;
    theirs.join_all("workers", &[two.clone(), one.clone()]).unwrap();
    seen.until(&[(1, 2), (2, 1)]).await;
    theirs.leave("workers", &one);
    theirs.join("others", &member(3)).unwrap();
    seen.until(&[(1, 1), (2, 1)]).await;
    two.handle().unwrap().kill();
    seen.until(&[(1, 1)]).await;
    // Members of this process are beside them.
    ours.join("all", &member(9)).unwrap();
    seen.until(&[(1, 1), (9, 1)]).await;
    theirs.join("workers", &one).unwrap();
    seen.until(&[(1, 2), (9, 1)]).await;
    drop(followed);
    seen.until(&[(9, 1)]).await;
}

/// Nodes that follow each other have the same members, each once, in a triangle too.
#[tokio::test]
async fn nodes_that_follow_each_other_have_the_same_members() {
    let scopes = [(); 3].map(|()| scope());
    let mut seen = scopes.each_ref().map(Seen::of);
    let (mut nodes, mut followed) = (Vec::<(Node, String)>::new(), Vec::new());
    for (at, scope) in scopes.iter().enumerate() {
        let (node, address) = listening(NodeOptions::default().name(format!("node-{at}"))).await;
        node.export_group("all", scope, "all").unwrap();
        followed.push(node.follow_group("all", scope, "all").unwrap());
        for (_, other) in &nodes {
            node.connect(other).await.unwrap();
        }
        nodes.push((node, address));
    }
    let members = [1, 2, 3].map(member);
    for (scope, member) in scopes.iter().zip(&members) {
        scope.join("all", member).unwrap();
    }
    for seen in &mut seen {
        seen.until(&[(1, 1), (2, 1), (3, 1)]).await;
    }
    members[1].handle().unwrap().kill();
    for seen in &mut seen {
        seen.until(&[(1, 1), (3, 1)]).await;
    }
    nodes[2].0.close(PATIENCE).await;
    for seen in &mut seen[..2] {
        seen.until(&[(1, 1)]).await;
    }
}

/// A group may be exported after it is followed, withdrawn, and exported again.
#[tokio::test]
async fn a_group_is_followed_from_its_export_to_its_withdrawal() {
    let (service, address) = listening(NodeOptions::default()).await;
    let client = Node::new();
    let (theirs, others, ours) = (scope(), scope(), scope());
    let mut seen = Seen::of(&ours);
    let _followed = client.follow_group("all", &ours, "all").unwrap();
    client.connect(&address).await.unwrap();
    theirs.join("all", &member(1)).unwrap();
    others.join("all", &member(2)).unwrap();
    service.export_group("other", &others, "all").unwrap();
    service.export_group("all", &theirs, "all").unwrap();
    seen.until(&[(1, 1)]).await;
    service.withdraw_group("other");
    service.withdraw_group("all");
    seen.until(&[]).await;
    service.export_group("all", &others, "all").unwrap();
    seen.until(&[(2, 1)]).await;
}

#[tokio::test]
async fn members_stay_over_a_cut_and_leave_with_the_session() {
    let (service, relay) = behind_relay("service").await;
    let client = Node::with(NodeOptions::default().keep_sessions(Duration::from_millis(500)));
    let (theirs, ours) = (scope(), scope());
    let mut seen = Seen::of(&ours);
    service.export_group("all", &theirs, "all").unwrap();
    theirs.join("all", &member(1)).unwrap();
    let _followed = client.follow_group("all", &ours, "all").unwrap();
    let mut events = client.session_events();
    client.connect(&relay.address).await.unwrap();
    seen.until(&[(1, 1)]).await;
    // Changes during the cut come after it.
    let target = relay.target();
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::End);
    theirs.join("all", &member(2)).unwrap();
    in_time(PATIENCE, async {
        while !matches!(events.next().await.unwrap().what, SessionChange::Cut { .. }) {}
    })
    .await;
    assert_eq!(ours.members("all").len(), 1);
    relay.lead_to(&target);
    seen.until(&[(1, 1), (2, 1)]).await;
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::End);
    seen.until(&[]).await;
    // And again over the next session.
    relay.lead_to(&target);
    client.connect(&relay.address).await.unwrap();
    seen.until(&[(1, 1), (2, 1)]).await;
}

/// A process whose group has members 7 and 8, at the address in its role.
#[tokio::test]
async fn exports_a_group_and_waits() {
    if child::role().is_none() {
        return;
    }
    let options = NodeOptions::default().keep_sessions(Duration::from_millis(500));
    let (node, address) = listening(options).await;
    let theirs = scope();
    theirs.join_all("all", &[7, 8].map(member)).unwrap();
    node.export_group("all", &theirs, "all").unwrap();
    child::say(&address);
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_members_of_a_process_that_is_killed_leave() {
    let start = || Child::start("cluster::follow::exports_a_group_and_waits", "group");
    let mut child = tokio::task::spawn_blocking(start).await.unwrap();
    let (client, ours) = (Node::new(), scope());
    let mut seen = Seen::of(&ours);
    let _followed = client.follow_group("all", &ours, "all").unwrap();
    client.connect(&child.said).await.unwrap();
    seen.until(&[(7, 1), (8, 1)]).await;
    child.kill();
    seen.until(&[]).await;
}

#[tokio::test]
async fn a_peer_that_may_not_call_a_group_does_not_see_it() {
    let [friend, other] = ["friend", "other"].map(SharedKey::generate);
    let access = Access::new()
        .allow(Principal::key("friend"), "all")
        .allow_methods(Principal::key("other"), "all", ["number"])
        .allow(Principal::key("other"), "open");
    let keys = [friend.clone(), other.clone()];
    let options = NodeOptions::default().accept_keys(keys).access(access);
    let (service, address) = listening(options).await;
    let theirs = scope();
    theirs.join("all", &member(1)).unwrap();
    for name in ["all", "open"] {
        service.export_group(name, &theirs, "all").unwrap();
    }
    for (key, name, expected) in
        [(&friend, "all", 1), (&friend, "open", 0), (&other, "all", 0), (&other, "open", 1)]
    {
        let client = Node::with(NodeOptions::default().shared_key(key.clone()));
        let (wanted, control) = (scope(), scope());
        let mut seen = Seen::of(&wanted);
        let _followed = client.follow_group(name, &wanted, "all").unwrap();
        client.connect(&address).await.unwrap();
        if expected == 1 {
            seen.until(&[(1, 1)]).await;
            continue;
        }
        // The group that it may see comes behind, over the same session.
        let open = if name == "all" { "open" } else { "all" };
        let mut seen_open = Seen::of(&control);
        let _open = client.follow_group(open, &control, "all").unwrap();
        seen_open.until(&[(1, 1)]).await;
        assert!(wanted.members("all").is_empty());
    }
}

/// More members than fit into one frame, and than a peer may add.
#[tokio::test]
async fn many_members_come_in_parts_and_a_bounded_number_of_them() {
    let (service, address) = listening(NodeOptions::default()).await;
    let client = Node::new();
    let (theirs, ours) = (scope(), scope());
    let members: Vec<_> = (0..1000).map(member).collect();
    theirs.join_all("all", &members).unwrap();
    let repeated: Vec<_> = (0..8000).map(|_| members[0].clone()).collect();
    theirs.join_all("all", &repeated).unwrap();
    service.export_group("all", &theirs, "all").unwrap();
    let (_, mut changes) = ours.subscribe("all").unwrap();
    let _followed = client.follow_group("all", &ours, "all").unwrap();
    client.connect(&address).await.unwrap();
    let most = wigwag::limits::FOLLOWED_MEMBERS_MAX;
    let mut joined = 0;
    while joined < most {
        joined += in_time(PATIENCE, changes.next()).await.unwrap().members.len();
    }
    // The next change of a member that has joined comes behind those that are left out.
    theirs.leave("all", &members[5]);
    let change = in_time(PATIENCE, changes.next()).await.unwrap();
    assert_eq!((change.kind, change.members.len()), (ChangeKind::Left, 1));
    assert_eq!(ours.members("all").len(), most - 1);
    // The one that has left makes room.
    theirs.join("all", &member(1000)).unwrap();
    let change = in_time(PATIENCE, changes.next()).await.unwrap();
    assert_eq!((change.kind, change.members.len()), (ChangeKind::Joined, 1));
}

#[tokio::test]
async fn a_peer_follows_a_bounded_number_of_groups() {
    let (service, address) = listening(NodeOptions::default()).await;
    let client = Node::new();
    let most = wigwag::limits::PEER_FOLLOWS_MAX;
    let theirs = scope();
    theirs.join("all", &member(1)).unwrap();
    let mut followed = Vec::new();
    client.connect(&address).await.unwrap();
    for number in 0..most {
        let ours = scope();
        let mut seen = Seen::of(&ours);
        let name = format!("group-{number}");
        service.export_group(&name, &theirs, "all").unwrap();
        let following = client.follow_group(&name, &ours, "all").unwrap();
        seen.until(&[(1, 1)]).await;
        followed.push((following, ours));
    }
    service.export_group("late", &theirs, "all").unwrap();
    let late = scope();
    let beyond = client.follow_group("late", &late, "all").unwrap();
    // Another peer has places of its own, and this one has seen its refusal by then.
    let other = Node::new();
    let ours = scope();
    let mut seen = Seen::of(&ours);
    let _other = other.follow_group("late", &ours, "all").unwrap();
    other.connect(&address).await.unwrap();
    seen.until(&[(1, 1)]).await;
    let first = client.find::<Member>("nobody").await;
    assert!(first.is_err() && late.members("all").is_empty());
    drop(beyond);
    // A group that is followed no more makes room, soon.
    drop(followed.pop());
    let (members, mut changes) = late.subscribe("all").unwrap();
    assert!(members.is_empty());
    let makes_room = async {
        let short = Duration::from_millis(50);
        loop {
            let _following = client.follow_group("late", &late, "all").unwrap();
            if tokio::time::timeout(short, changes.next()).await.is_ok() {
                return;
            }
        }
    };
    in_time(PATIENCE, makes_room).await;
    assert!(matches!(client.follow_group("a/b", &late, "all"), Err(NodeError::BadName { .. })));
    client.close(PATIENCE).await;
    assert!(matches!(client.follow_group("late", &late, "all"), Err(NodeError::Closed)));
}
