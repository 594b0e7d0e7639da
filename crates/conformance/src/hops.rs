//! Chains and rings of forwarders: how far a message goes, and that it does not go for ever.

use std::time::Duration;

use wigwag_net::socket::raw;
use wigwag_net::socket::{Pair, Rep, Req, Surveyor};
use wigwag_sp::limits::Hops;

use crate::forwarders::forwarding;
use crate::{TestEnv, eventually};

/// A chain of so many forwarders: where to ask, where the last one listens for its worker, and what
/// must live as long.
async fn chain(env: &TestEnv, forwarders: usize) -> (String, String, Vec<(raw::Rep, raw::Req)>) {
    let mut sockets: Vec<(raw::Rep, raw::Req)> = Vec::new();
    let (mut entry, mut exit) = (String::new(), String::new());
    for number in 0..forwarders {
        let (front, back) = (raw::Rep::new(), raw::Req::new());
        let place = |side| env.named_address(&format!("{forwarders}-{number}-{side}"));
        if number == 0 {
            entry = front.listen(&place("front")).await.expect("listens").to_string();
        } else {
            // The one before listens with its back.
            front.dial(&exit).await.expect("dials");
        }
        exit = back.listen(&place("back")).await.expect("listens").to_string();
        drop(forwarding(&front, &back));
        sockets.push((front, back));
    }
    (entry, exit, sockets)
}

/// Behind six forwarders a request has seven words, behind seven eight, and it is answered; behind
/// eight it has nine and is dropped where it arrives.
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
    // The limit is the receiver's to set.
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

/// Two forwarders that are each other's workers: the request goes round until it has nine words, and
/// then it is gone.
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

/// So does a survey, which goes to everybody at each turn.
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
