//! The times at which silence is noticed and an abandoned session is given up: in simulated time,
//! to the millisecond.

use std::time::Duration;

use tokio::time::sleep;
use turmoil::Sim;
use wigwag::NodeOptions;
use wigwag_testkit::ledger::{Ledger, in_time};

use crate::PATIENCE;
use crate::stage::{
    Diary, Draws, HOSTS, Outcome, find, is_cut, is_ended, network, node, place, seeds,
};

/// The promised bound on noticing silence: three intervals of a second, and half a second of grace.
const NOTICED_WITHIN: Duration = Duration::from_millis(3500);

/// The bound for a session at rest, which may have promised to be silent for 15 s.
const NOTICED_AT_REST: Duration = Duration::from_millis(17_500);

/// Two intervals less the time of a packet: a peer heard within the last interval is not yet
/// silent.
const TOO_EARLY: Duration = Duration::from_millis(1990);

/// How long the listener keeps a session.
const KEPT: Duration = Duration::from_secs(8);

/// The dialer gives the session up this much later.
const DIALER_WAITS: Duration = Duration::from_secs(5);

/// Timers have a resolution of a millisecond, and every host has its own clock.
const STEP: Duration = Duration::from_millis(2);

/// How the network fails; it does not recover.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Partition,
    Hold,
    /// The dialer still receives, but its packets are lost.
    FromDialer,
    /// The dialer's packets still arrive, but it receives nothing.
    FromListener,
}

const FAULTS: [Fault; 4] = [Fault::Partition, Fault::Hold, Fault::FromDialer, Fault::FromListener];

impl Fault {
    fn strike(self) {
        let [dialer, listener] = HOSTS;
        match self {
            Fault::Partition => turmoil::partition(dialer, listener),
            Fault::Hold => turmoil::hold(dialer, listener),
            Fault::FromDialer => turmoil::partition_oneway(dialer, listener),
            Fault::FromListener => turmoil::partition_oneway(listener, dialer),
        }
    }
}

/// The dialer's activity until the network fails, and after.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    /// The dialer always has something to send.
    Busy,
    /// The dialer has been idle for a short time.
    Pauses,
    /// The dialer has been idle for so long that the session is at rest.
    Rests,
}

/// The observations of both sides, and the time at which the network failed.
struct Seen {
    failed: Duration,
    diaries: [Diary; 2],
}

/// Runs both sides with a session, on a network that fails at a time derived from the seed.
fn fail(seed: u64, fault: Fault, work: Work) -> Seen {
    let mut simulation = network(seed, Duration::from_millis(5));
    let diaries: [Diary; 2] = Default::default();
    let [dialers, listeners] = diaries.clone();
    let at = match work {
        Work::Rests => Draws(seed).pause(30_000, 50_000),
        _ => Draws(seed).pause(500, 6000),
    };
    simulation.client(HOSTS[1], listen(listeners));
    simulation.client(HOSTS[0], dial(dialers, work));
    simulation.client("weather", async move {
        sleep(at).await;
        fault.strike();
        Ok(())
    });
    run(&mut simulation);
    Seen { failed: at, diaries }
}

fn run(simulation: &mut Sim<'_>) {
    simulation.run().expect("both sides see the end of the session");
}

fn options() -> NodeOptions {
    NodeOptions::default().keep_sessions(KEPT)
}

async fn listen(diary: Diary) -> Outcome {
    let node = node(HOSTS[1], options()).await?;
    diary.keep(&node);
    in_time(PATIENCE, diary.wait(is_ended)).await;
    Ok(())
}

async fn dial(diary: Diary, work: Work) -> Outcome {
    let node = node(HOSTS[0], options()).await?;
    diary.keep(&node);
    let ledger = find::<Ledger>(&node, &place(HOSTS[1], "ledger")).await;
    let mut number = 0;
    while work == Work::Busy && diary.first(is_ended).is_none() {
        // Tells after the last that arrived are queued until the session is full, or fail at once.
        let _ = ledger.note(0, number, String::new()).try_tell();
        number += 1;
        sleep(Duration::from_millis(7)).await;
    }
    in_time(PATIENCE, diary.wait(is_ended)).await;
    Ok(())
}

fn check(seed: u64, fault: Fault, work: Work) {
    let Seen { failed, diaries } = fail(seed, fault, work);
    let within = if work == Work::Rests { NOTICED_AT_REST } else { NOTICED_WITHIN };
    for (name, diary, waits) in
        [(HOSTS[0], &diaries[0], KEPT + DIALER_WAITS), (HOSTS[1], &diaries[1], KEPT)]
    {
        let case = format!("seed {seed}, {fault:?}, {work:?}, {name}: {:?}", diary.entries());
        let cut = diary.first(is_cut).expect(&case);
        let ended = diary.first(is_ended).expect(&case);
        let noticed = cut.checked_sub(failed).expect(&case);
        let waited = ended - cut;
        assert!(noticed >= TOO_EARLY, "accused after {noticed:?}; {case}");
        assert!(noticed <= within, "noticed after {noticed:?}; {case}");
        assert!(waited >= waits && waited <= waits + STEP, "waited for {waited:?}; {case}");
    }
}

#[test]
fn silence_is_noticed_and_the_session_given_up_in_time() {
    seeds(6, |seed| {
        for fault in FAULTS {
            check(seed, fault, Work::Busy);
            check(seed, fault, Work::Pauses);
        }
    });
}

#[test]
fn a_session_at_rest_is_given_up_as_well() {
    seeds(2, |seed| {
        for fault in FAULTS {
            check(seed, fault, Work::Rests);
        }
    });
}
