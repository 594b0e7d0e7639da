//! A session holds a bounded number of channels that wait for answers.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wigwag::limits::PIPES_PENDING_MAX;
use wigwag::{Actor, Node};

use super::{Desk, PATIENCE};

/// Actors that are asked: each channel to one has room for some asks without an answer.
const ASKED: usize = 24;
/// Asks of each of them.
const ASKS: usize = 51;

/// Beyond the limit, callers wait for the answer first, and no call is lost.
#[tokio::test]
async fn pipes_beyond_the_limit_wait_for_their_answers() {
    let (service, client) = (Node::new(), Node::new());
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let (gate, second) = (Arc::new(Semaphore::new(0)), Desk::default().spawn());
    let mut desks = Vec::new();
    for n in 0..ASKED {
        let desk = Desk { gate: Some(gate.clone()), ..Desk::default() }.spawn();
        desk.put("second", second.clone()).ask().await.unwrap();
        service.export(&format!("desk{n}"), &desk).unwrap();
        desks.push(client.actor::<Desk>(&format!("{bound}/desk{n}")).await.unwrap());
    }
    let (most, mut piped) = (PIPES_PENDING_MAX as usize, Vec::new());
    for _ in 0..ASKS {
        for desk in &desks {
            let one = desk.find_later("second".to_owned()).pipe();
            let told = one.note("x").try_tell();
            assert_eq!(told.is_ok(), piped.len() < most, "{}: {told:?}", piped.len());
            piped.push(one);
        }
    }
    assert!(piped.len() > most + 100);
    gate.add_permits(piped.len());
    let all = async {
        for one in &piped {
            one.note("y").ask().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, all).await.unwrap();
    assert_eq!(second.lines().ask().await.unwrap().len(), most + piped.len());
    // Those that were answered count no more.
    let again = desks[0].find_later("second".to_owned()).pipe();
    again.note("z").try_tell().unwrap();
    gate.add_permits(1);
    assert_eq!(again.note("z").ask().await.unwrap() as usize, most + piped.len() + 2);
}
