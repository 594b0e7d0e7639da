//! References over connections that are cut.

use std::time::Duration;

use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::relay::{Fault, Relay};

use super::{Room, member, next};

/// Members that join while the connection is cut.
const MEMBERS: usize = 300;
/// Texts that each of them hears.
const TEXTS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_and_what_goes_through_them_arrive_once_over_cuts() {
    let [service, client] =
        ["service", "client"].map(|name| Node::with(NodeOptions::default().name(name)));
    service.export("room", &Room::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let room = client.actor::<Room>(&format!("{}/room", relay.address)).await.unwrap();
    let all = async {
        let mut members = Vec::new();
        for number in 0..MEMBERS {
            let (one, heard) = member(&number.to_string());
            room.join_all(Vec::new(), Some(one)).tell().await.unwrap();
            members.push(heard);
        }
        for number in 0..TEXTS {
            let said = room.say(number.to_string()).timeout(Duration::from_secs(60)).ask().await;
            assert_eq!(said.unwrap(), MEMBERS as u64);
        }
        for heard in &mut members {
            for number in 0..TEXTS {
                assert_eq!(next(heard).await, Some(number.to_string()));
            }
        }
        room.leave_all().tell().await.unwrap();
        for heard in &mut members {
            assert_eq!(next(heard).await, None, "it is let go, and has heard nothing twice");
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
    let cuts = client.statistics()[0].session.cuts;
    assert!(cuts > 5, "{cuts} cuts");
}
