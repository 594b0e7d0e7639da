//! Process groups. A test named after a case of OTP's `pg_SUITE` is that case for one process;
//! `docs/otp-cases.md` lists the cases that are left out, and why.

use wigwag::{
    Actor, Handle, Reason,
    groups::{Change, ChangeKind, Changes, GroupError, Groups, TellAllReport},
    lifecycle::Alive,
};
use wigwag_actor::limits::{MEMBERSHIPS_MAX, WATCHERS_MAX};

struct Member(u64);

#[wigwag::actor]
impl Member {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.0 += amount;
        self.0
    }

    pub fn join(&self, this: &wigwag::This<Self>, groups: wigwag::Local<Groups<Member>>) {
        let _ = groups.0.subscribe("self").unwrap();
        groups.0.join("self", &this.reference()).unwrap();
        this.stop(Reason::Normal);
    }
}

fn member() -> MemberRef {
    Member(0).spawn()
}

fn handles(members: &[MemberRef]) -> Vec<Handle> {
    members.iter().map(|member| member.handle().unwrap()).collect()
}

fn of(groups: &Groups<Member>, group: &str) -> Vec<Handle> {
    handles(&groups.members(group))
}

/// The group, the kind and the members of a change.
fn says(change: Option<Change<Member>>) -> (String, ChangeKind, Vec<Handle>) {
    let change = change.unwrap();
    (change.group.to_string(), change.kind, handles(&change.members))
}

fn all(changes: &mut Changes<Member>) -> Vec<(String, ChangeKind, Vec<Handle>)> {
    std::iter::from_fn(|| changes.try_next()).map(|change| says(Some(change))).collect()
}

async fn stop(member: &MemberRef) {
    let handle = member.handle().unwrap();
    handle.kill();
    handle.ended().await;
}

#[tokio::test]
async fn pg() {
    let (groups, one) = (Groups::<Member>::new(), member());
    groups.join("pg", &one).unwrap();
    assert_eq!(of(&groups, "pg"), handles(std::slice::from_ref(&one)));
    assert_eq!(groups.groups(), ["pg".into()]);
    assert!(groups.leave("pg", &one));
    assert!(groups.members("pg").is_empty() && groups.groups().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leave_exit_race() {
    let groups = Groups::<Member>::new();
    for _ in 0..100 {
        let one = member();
        groups.join("test", &one).unwrap();
        let handle = one.handle().unwrap();
        let killing = tokio::spawn(async move { handle.kill() });
        groups.leave("test", &one);
        killing.await.unwrap();
        assert!(groups.members("test").is_empty() && groups.groups().is_empty());
    }
    assert!(groups.subscribe_to_all().unwrap().0.is_empty());
}

#[tokio::test]
async fn single() {
    let (groups, one, two) = (Groups::<Member>::new(), member(), member());
    groups.join("single", &one).unwrap();
    groups.join_all("single", &[one.clone(), one.clone()]).unwrap();
    assert_eq!(of(&groups, "single"), vec![one.handle().unwrap(); 3]);
    assert!(!groups.leave("missing", &one));
    assert_eq!(groups.leave_all("single", &[one.clone(), one.clone()]), 2);
    assert!(groups.leave("single", &one) && !groups.leave("single", &one));
    assert!(groups.groups().is_empty());
    groups.join("single", &one).unwrap();
    groups.join("single", &two).unwrap();
    assert_eq!(of(&groups, "single"), handles(&[one.clone(), two.clone()]));
    stop(&two).await;
    assert_eq!(of(&groups, "single"), handles(std::slice::from_ref(&one)));
    assert!(groups.leave("single", &one));
}

#[tokio::test]
async fn thundering_herd() {
    let (groups, one) = (Groups::<Member>::new(), member());
    let (_, mut changes) = groups.subscribe_to_all().unwrap();
    for number in 0..10_000 {
        groups.join(&format!("group {number}"), &one).unwrap();
    }
    assert_eq!(groups.groups().len(), 10_000);
    stop(&one).await;
    assert!(groups.groups().is_empty());
    let heard = all(&mut changes);
    let left = heard.iter().filter(|(_, kind, _)| *kind == ChangeKind::Left).count();
    assert_eq!((heard.len(), left), (20_000, 10_000));
}

#[tokio::test]
async fn group_leave() {
    let (groups, one) = (Groups::<Member>::new(), member());
    groups.join_all("two", &vec![one.clone(); 16]).unwrap();
    assert_eq!(groups.leave_all("two", &vec![one.clone(); 4]), 4);
    assert_eq!(groups.members("two").len(), 12);
    stop(&one).await;
    assert!(groups.members("two").is_empty());
}

/// The cases `monitor` and `monitor_scope`: one story, run with one group and with all groups.
async fn monitors(everything: bool) {
    let (groups, one, two) = (Groups::<Member>::new(), member(), member());
    let subscribe = || match everything {
        true => {
            let (snapshot, changes) = groups.subscribe_to_all().unwrap();
            (snapshot.get("group").cloned().unwrap_or_default(), changes)
        }
        false => groups.subscribe("group").unwrap(),
    };
    let (before, mut first) = subscribe();
    assert!(before.is_empty());
    groups.join("group", &one).unwrap();
    let of_one = handles(std::slice::from_ref(&one));
    let group = || "group".to_owned();
    assert_eq!(says(first.next().await), (group(), ChangeKind::Joined, of_one.clone()));
    let (before, mut second) = subscribe();
    assert_eq!(handles(&before), of_one);
    groups.join_all("group", &[two.clone(), two.clone()]).unwrap();
    assert!(groups.leave("group", &one));
    assert!(!groups.leave("group", &one));
    assert!(groups.leave("group", &two));
    stop(&two).await;
    let of_two = handles(std::slice::from_ref(&two));
    let expected = [
        (group(), ChangeKind::Joined, handles(&[two.clone(), two.clone()])),
        (group(), ChangeKind::Left, of_one.clone()),
        (group(), ChangeKind::Left, of_two.clone()),
        (group(), ChangeKind::Left, of_two),
    ];
    assert_eq!(all(&mut first), expected);
    assert_eq!(all(&mut second), expected);
    drop(second);
    groups.join("another", &one).unwrap();
    groups.join("group", &one).unwrap();
    let joined = |group: &str| (group.to_owned(), ChangeKind::Joined, of_one.clone());
    let both = [joined("another"), joined("group")];
    assert_eq!(all(&mut first), both[usize::from(!everything)..]);
}

#[tokio::test]
async fn monitor() {
    monitors(false).await;
}

#[tokio::test]
async fn monitor_scope() {
    monitors(true).await;
}

/// A late subscriber to all groups gets a snapshot: each group with its members, and no other
/// group.
#[tokio::test]
async fn monitor_nonempty_scope() {
    let (groups, one, two) = (Groups::<Member>::new(), member(), member());
    groups.join("one", &one).unwrap();
    groups.join("one", &two).unwrap();
    for _ in 0..2 {
        let (snapshot, mut changes) = groups.subscribe_to_all().unwrap();
        assert_eq!(snapshot.len(), 1);
        assert_eq!(handles(&snapshot["one"]), handles(&[one.clone(), two.clone()]));
        assert!(changes.try_next().is_none());
    }
}

/// The parts of `double`, `scope_restart` and `empty_group_by_remote_leave` that are about members:
/// a new scope is empty whatever the old one holds, and a group without members does not exist.
#[tokio::test]
async fn a_scope_that_is_made_anew_is_empty() {
    let (groups, one) = (Groups::<Member>::new(), member());
    groups.join_all("double", &[one.clone(), one.clone()]).unwrap();
    let anew = Groups::<Member>::new();
    assert!(anew.members("double").is_empty() && anew.groups().is_empty());
    anew.join("double", &one).unwrap();
    assert_eq!((groups.members("double").len(), anew.members("double").len()), (2, 1));
    drop(groups);
    assert_eq!(of(&anew, "double"), handles(std::slice::from_ref(&one)));
    assert!(anew.leave("double", &one));
    assert!(anew.groups().is_empty());
}

#[tokio::test]
async fn monitor_self() {
    let (groups, one) = (Groups::<Member>::new(), member());
    one.join(wigwag::Local(groups.clone())).tell().await.unwrap();
    let handle = one.handle().unwrap();
    assert_eq!(handle.ended().await, Reason::Normal);
    assert!(groups.members("self").is_empty());
    groups.join("self", &member()).unwrap();
    assert_eq!(groups.members("self").len(), 1);
}

#[tokio::test]
async fn multi_monitor() {
    let (groups, one) = (Groups::<Member>::new(), member());
    let (_, mut first) = groups.subscribe("one").unwrap();
    let (_, mut second) = groups.subscribe("two").unwrap();
    let (_, mut scope) = groups.subscribe_to_all().unwrap();
    groups.join("one", &one).unwrap();
    groups.join("two", &one).unwrap();
    let joined =
        |group: &str| (group.to_owned(), ChangeKind::Joined, handles(std::slice::from_ref(&one)));
    assert_eq!(all(&mut first), [joined("one")]);
    assert_eq!(all(&mut second), [joined("two")]);
    assert_eq!(all(&mut scope), [joined("one"), joined("two")]);
}

#[tokio::test]
async fn scopes_are_apart_and_a_group_is_told_together() {
    let (groups, other) = (Groups::<Member>::new(), Groups::<Member>::new());
    let (one, two) = (member(), member());
    groups.join_all("all", &[one.clone(), two.clone(), two.clone()]).unwrap();
    assert!(other.groups().is_empty());
    assert_eq!(
        groups.tell_all("all", |member| member.add(5)),
        TellAllReport { sent: 3, refused: 0 }
    );
    assert_eq!(one.add(0).ask().await.unwrap(), 5);
    assert_eq!(two.add(0).ask().await.unwrap(), 10);
    stop(&one).await;
    assert_eq!(groups.join_all("all", &[two, one]), Err(GroupError::Ended));
    assert_eq!(groups.members("all").len(), 2);
}

#[tokio::test]
async fn a_subscriber_that_falls_too_far_behind_is_dropped() {
    let (groups, one) = (Groups::<Member>::new(), member());
    let (_, mut changes) = groups.subscribe("group").unwrap();
    for _ in 0..33_000 {
        groups.join("group", &one).unwrap();
        groups.leave("group", &one);
    }
    for number in 0..65_536 {
        let kind = if number % 2 == 0 { ChangeKind::Joined } else { ChangeKind::Left };
        assert_eq!(changes.next().await.unwrap().kind, kind);
    }
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn memberships_are_bounded_and_a_join_beyond_them_changes_nothing() {
    let (groups, one) = (Groups::<Member>::new(), member());
    groups.join("one", &one).unwrap();
    let too_many = vec![one.clone(); MEMBERSHIPS_MAX];
    assert_eq!(groups.join_all("many", &too_many), Err(GroupError::TooManyMembers));
    assert_eq!(groups.groups(), ["one".into()]);
    groups.join_all("many", &too_many[1..]).unwrap();
    assert_eq!(groups.join("one", &one), Err(GroupError::TooManyMembers));
    assert!(groups.leave("many", &one));
    groups.join("one", &one).unwrap();
}

#[tokio::test]
async fn scopes_that_are_dropped_do_not_watch_their_members_any_more() {
    let one = member();
    for _ in 0..=WATCHERS_MAX {
        Groups::<Member>::new().join("all", &one).unwrap();
    }
}
