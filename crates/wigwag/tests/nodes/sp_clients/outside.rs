//! Programs of other implementations ask, tell, follow and survey the actors of a node.

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../../../net/tests/outside_sp/peer.rs"]
pub(crate) mod peer;

use tokio::runtime::Runtime;
use wigwag::groups::Groups;

use super::*;
use peer::{ALL, Peer, each};

/// A node on threads of its own, since the programs are waited for on this one.
fn node_at(address: &str) -> (Runtime, Node, Address, DeskRef) {
    let runtime = Runtime::new().unwrap();
    let (node, bound, desk) = runtime.block_on(desk_at(address));
    (runtime, node, bound, desk)
}

#[test]
fn their_req_asks_an_actor() {
    each("client-req", &ALL, |program, ours, _| {
        let (_runtime, _node, bound, _desk) = node_at(ours);
        for (request, answer) in [
            (r#"["desk","add",2,3]"#, r#"["ok",5]"#),
            (r#"["nobody","add",2,3]"#, r#"["error","NoSuchActor","#),
        ] {
            let data = ["--data", request];
            let line = Peer::start(program, "req", true, &bound.to_string(), &data).line();
            let line = line.replace('\\', "");
            assert!(line.starts_with(answer), "{program}: {line}");
        }
    });
}

#[test]
fn their_push_tells_an_actor() {
    each("client-push", &ALL, |program, ours, _| {
        let (runtime, _node, bound, desk) = node_at(ours);
        let data = ["--data", r#"["desk","write","told"]"#];
        let _peer = Peer::start(program, "push", true, &bound.to_string(), &data);
        runtime.block_on(until(async || desk.words().ask().await.unwrap() == ["told"]));
    });
}

#[test]
fn their_sub_follows_an_actor() {
    each("client-sub", &ALL, |program, ours, _| {
        let (runtime, node, bound, desk) = node_at(ours);
        let topic = ["--subscribe", "desk/news"];
        let mut peer = Peer::start(program, "sub", true, &bound.to_string(), &topic);
        runtime.block_on(until(async || {
            desk.announce("other".into(), vec![7]).ask().await.unwrap();
            desk.announce("news".into(), vec![1, 2]).ask().await.unwrap();
            node.sp_client_statistics().published > 0
        }));
        assert_eq!(peer.line(), "desk/news [1,2]", "{program}");
    });
}

#[test]
fn their_surveyor_asks_a_group() {
    each("client-surveyor", &ALL, |program, ours, _| {
        let (runtime, node, bound, _desk) = node_at(ours);
        let groups = Groups::<Desk>::new();
        runtime.block_on(async {
            let desks = [1, 2].map(|number| Desk { number, ..Desk::default() }.spawn());
            groups.join_all("all", &desks).unwrap();
        });
        node.export_group("desks", &groups, "all").unwrap();
        // Their first survey may be sent before a peer is connected, so it is repeated.
        let data = ["--data", r#"["desks","number"]"#, "--interval", "1"];
        let mut peer = Peer::start(program, "surveyor", true, &bound.to_string(), &data);
        let mut lines = [peer.line(), peer.line()].map(|line| line.replace('\\', ""));
        lines.sort();
        assert_eq!(lines, [r#"["ok",1]"#, r#"["ok",2]"#], "{program}");
    });
}
