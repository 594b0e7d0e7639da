//! Chains over connections that are cut.

use std::time::Duration;

use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::relay::{Fault, Relay};

use super::{Desk, put};

/// Chains of calls, each of which notes its number.
const CHAINS: u64 = 1_500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chains_arrive_once_and_in_order_over_cuts() {
    let [service, client] =
        ["service", "client"].map(|name| Node::with(NodeOptions::default().name(name)));
    let first = Desk::default().spawn();
    let second = put(&first, "second").await;
    let third = put(&second, "third").await;
    service.export("desk", &first).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let desk = client.actor::<Desk>(&format!("{}/desk", relay.address)).await.unwrap();
    let all = async {
        for n in 0..CHAINS {
            let piped = desk.find("second").pipe().find("third").pipe();
            piped.note(&format!("{n} told")).tell().await.unwrap();
            let asked = piped.note(&format!("{n} asked")).timeout(Duration::from_secs(60)).ask();
            assert_eq!(asked.await.unwrap(), 2 * n + 2);
            // A call for which nobody can be found fails, and no other does.
            let nobody = desk.find("nobody").pipe();
            assert!(nobody.note("lost").timeout(Duration::from_secs(60)).ask().await.is_err());
        }
    };
    let storm = async {
        for round in 0_usize.. {
            let before = relay.bytes();
            while relay.bytes() < before + 5_000 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            relay.strike([Fault::End, Fault::Tear, Fault::Reset, Fault::Tear][round % 4]);
        }
    };
    tokio::select! {
        () = all => {}
        () = storm => {}
    }
    let lines = third.lines().ask().await.unwrap();
    let expected = (0..CHAINS).flat_map(|n| [format!("{n} told"), format!("{n} asked")]);
    assert!(lines.into_iter().eq(expected));
    let cuts = client.statistics()[0].session.cuts;
    assert!(cuts > 5, "{cuts} cuts");
}
