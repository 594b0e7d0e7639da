//! Chains and rings of forwarders: the number of hops that a message may take.

use std::time::Duration;

use wigwag_net::socket::raw;
use wigwag_net::socket::{Pair, Rep, Req, Surveyor};
use wigwag_sp::limits::Hops;

use crate::sockets::forwarders::forwarding;
use crate::{TestEnv, eventually};

/// A chain of forwarders: the address to ask at, the address at which the last one listens for its
/// worker, and the tasks and sockets to keep alive.
async fn chain(env: &TestEnv, forwarders: usize) -> (String, String, Vec<(raw::Rep, raw::Req)>) {
    let mut sockets: Vec<(raw::Rep, raw::Req)> = Vec::new();
    let (mut entry, mut exit) = (String::new(), String::new());
    for number in 0..forwarders {
        let (front, back) = (raw::Rep::new(), raw::Req::new());
        let place = |side| env.named_address(&format!("{forwarders}-{number}-{side}"));
        if number == 0 {
            entry = front.listen(&place("front")).await.expect("listens").to_string();
        } else {
            // The back of the forwarder before listens.
            front.dial(&exit).await.expect("dials");
        }
        exit = back.listen(&place("back")).await.expect("listens").to_string();
        drop(forwarding(&front, &back));
        sockets.push((front, back));
    }
    (entry, exit, sockets)
}

/// Behind six forwarders a request has seven words, behind seven it has eight, and it is answered.
/// Behind eight forwarders it has nine, and the receiver drops it.
pub async fn a_chain_of_forwarders_is_as_long_as_the_limit(env: &TestEnv) {
    for forwarders in [1, 6, 7] {
        let (entry, exit, sockets) = chain(env, forwarders).await;
        let (req, rep) = (Req::new(), Rep::new());
        req.dial(&entry).await.expect("dials");
        rep.dial(&exit).await.expect("dials");
        for round in 0..3 {
            req.send(format!("question {round}")).await.expect("sent");
            assert_eq!(rep.recv().await.expect("a request"), format!("question {round}"));
            rep.send(format!("answer {round}")).await.expect("sent");
            assert_eq!(req.recv().await.expect("a reply"), format!("answer {round}"));
        }
        drop(sockets);
    }
    let (entry, exit, sockets) = chain(env, 8).await;
    let (req, rep) = (Req::new(), Rep::new());
    let patient = Rep::with_hops(Hops::new(9).expect("at most fifteen"));
    req.dial(&entry).await.expect("dials");
    rep.dial(&exit).await.expect("dials");
    req.send("too far").await.expect("sent");
    eventually(|| rep.statistics().counters.dropped_too_many_hops == 1).await;
    rep.close().await;
    // The receiver sets the limit.
    patient.dial(&exit).await.expect("dials");
    req.send("not too far").await.expect("sent");
    assert_eq!(patient.recv().await.expect("a request"), "not too far");
    patient.send("heard").await.expect("sent");
    assert_eq!(req.recv().await.expect("a reply"), "heard");
    drop(sockets);
}

/// pair1 counts its hops in a word: seven forwarders make it eight.
pub async fn a_chain_of_pairs_is_as_long_as_the_limit(env: &TestEnv) {
    for forwarders in [7, 8] {
        let left = Pair::new();
        let place = |number| env.named_address(&format!("{forwarders}-{number}"));
        let mut next = left.listen(&place(0)).await.expect("listens").to_string();
        let mut sockets = Vec::new();
        for number in 1..=forwarders {
            let (front, back) = (raw::Pair::new(), raw::Pair::new());
            front.dial(&next).await.expect("dials");
            next = back.listen(&place(number)).await.expect("listens").to_string();
            drop(forwarding(&front, &back));
            sockets.push((front, back));
        }
        let right = Pair::new();
        right.dial(&next).await.expect("dials");
        left.send("how far?").await.expect("sent");
        if forwarders == 7 {
            assert_eq!(right.recv().await.expect("eight hops"), "how far?");
        } else {
            eventually(|| right.statistics().counters.dropped_too_many_hops == 1).await;
        }
    }
}

/// Two forwarders are each other's workers: the request goes round until it has nine words, and is
/// then dropped.
pub async fn a_ring_of_forwarders_ends_a_request(env: &TestEnv) {
    let fronts = [raw::Rep::new(), raw::Rep::new()];
    let backs = [raw::Req::new(), raw::Req::new()];
    let entry = fronts[0].listen(&env.named_address("0")).await.expect("listens").to_string();
    let other = fronts[1].listen(&env.named_address("1")).await.expect("listens").to_string();
    backs[0].dial(&other).await.expect("dials");
    backs[1].dial(&entry).await.expect("dials");
    let running = [forwarding(&fronts[0], &backs[0]), forwarding(&fronts[1], &backs[1])];
    let req = Req::new();
    req.dial(&entry).await.expect("dials");
    req.send("round and round").await.expect("sent");
    let over = || {
        fronts.iter().map(|front| front.statistics().counters.dropped_too_many_hops).sum::<u64>()
    };
    eventually(|| over() == 1).await;
    let mut forwarded = 0;
    for (front, running) in fronts.iter().zip(running) {
        front.close().await;
        forwarded += running.await.expect("no panic").forwarded;
    }
    assert_eq!(forwarded, 8, "one for each hop that is allowed");
}

/// A survey in a ring ends too, though each forwarder sends it to all its peers.
pub async fn a_ring_of_forwarders_ends_a_survey(env: &TestEnv) {
    let fronts = [raw::Respondent::new(), raw::Respondent::new()];
    let backs = [raw::Surveyor::new(), raw::Surveyor::new()];
    let entry = fronts[0].listen(&env.named_address("0")).await.expect("listens").to_string();
    let other = fronts[1].listen(&env.named_address("1")).await.expect("listens").to_string();
    backs[0].dial(&other).await.expect("dials");
    backs[1].dial(&entry).await.expect("dials");
    let running = [forwarding(&fronts[0], &backs[0]), forwarding(&fronts[1], &backs[1])];
    let surveyor = Surveyor::new();
    surveyor.set_survey_time(Some(Duration::from_secs(30)));
    surveyor.dial(&entry).await.expect("dials");
    eventually(|| fronts[0].statistics().pipes_open == 2).await;
    surveyor.send("who?").await.expect("sent");
    let over = || {
        fronts.iter().map(|front| front.statistics().counters.dropped_too_many_hops).sum::<u64>()
    };
    eventually(|| over() == 1).await;
    drop(running);
}
