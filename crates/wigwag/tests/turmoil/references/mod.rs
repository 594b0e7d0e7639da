//! A random storm of references between four nodes: passed on as arguments, in answers and in
//! streams, also to nodes without a connection to their actors, piped, monitored, linked, members of
//! exported groups, dropped and given up, while connections are cut, hosts crash and nodes are closed.
//!
//! Calls of one reference are handled in order and once, each with the outcome that its caller is
//! told. Each monitor tells once, and each link. All nodes that are connected know the same members
//! in the end. No session ends for a broken rule, and nothing waits for ever. When all references are
//! dropped, no actor is left and no node holds anything of another.

mod desk;
mod world;
mod driver;
mod calls;
mod answers;
mod streams;
mod links;
mod groups;
mod closings;
mod site;
mod checks;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use turmoil::Sim;

use crate::stage::{Draws, Outcome, network, seeds};
use site::{NAMES, Site};
use world::{CHECK, CLEAR, Faults, QUIET, World};

/// The longest way of a packet.
const SLOWEST: Duration = Duration::from_millis(10);
/// By then each call has an outcome, and each session of a host that has crashed is over.
const SETTLED: Duration = Duration::from_secs(30);
/// The longest wait for the end of all drivers, and for that of all actors.
const ENDED: Duration = Duration::from_secs(200);

/// Leads a run through its phases.
async fn conduct(world: Arc<World>, seed: u64) -> Outcome {
    let mut draws = Draws(seed);
    match world.faults {
        Faults::None | Faults::Closings => sleep(draws.pause(500, 3000)).await,
        Faults::Cuts | Faults::Crashes => cut(&mut draws).await,
    }
    world.set_phase(QUIET);
    until(&world, "is idle", |world| world.state().idle.iter().all(|is_idle| *is_idle)).await;
    sleep(SETTLED).await;
    checks::check(&world);
    world.set_phase(CHECK);
    until(&world, "has checked", |world| world.state().checked.iter().all(|is_so| *is_so)).await;
    world.set_phase(CLEAR);
    until(&world, "is clean", |world| world.state().clean.iter().all(|is_clean| *is_clean)).await;
    Ok(())
}

async fn until(world: &World, what: &str, is_so: impl Fn(&World) -> bool) {
    let wait = async {
        while !is_so(world) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    if timeout(ENDED, wait).await.is_err() {
        let state = world.state();
        let wrong = format!(
            "not each host {what}: {:?}, {:?}, {:?}",
            state.idle, state.checked, state.left
        );
        drop(state);
        world.wrong(wrong);
    }
}

/// Cuts connections between two hosts at a time: packets are lost, or held for a while.
async fn cut(draws: &mut Draws) {
    let last = NAMES.len() as u64 - 1;
    for _ in 0..draws.between(3, 8) {
        sleep(draws.pause(1, 500)).await;
        let one = draws.between(0, last) as usize;
        let other = NAMES[(one + draws.between(1, last) as usize) % NAMES.len()];
        let (one, pause) = (NAMES[one], draws.pause(1, 2500));
        if draws.between(0, 1) == 0 {
            turmoil::partition(one, other);
            sleep(pause).await;
            turmoil::repair(one, other);
        } else {
            turmoil::hold(one, other);
            sleep(pause).await;
            turmoil::release(one, other);
        }
    }
}

/// The hosts that crash, and the times at which they do and come back.
fn crashes(seed: u64) -> Vec<(&'static str, Duration, Duration)> {
    let mut draws = Draws(!seed);
    let first = draws.between(0, 3) as usize;
    let crashing = NAMES.iter().cycle().skip(first).take(draws.between(1, 2) as usize);
    crashing
        .map(|name| {
            let at = draws.pause(300, 3000);
            (*name, at, at + draws.pause(1, 4000))
        })
        .collect()
}

fn run(simulation: &mut Sim<'_>, crashes: &[(&str, Duration, Duration)]) -> Outcome {
    let mut before = Duration::ZERO;
    while !simulation.step()? {
        let now = simulation.elapsed();
        for (name, crash, bounce) in crashes {
            if (before..now).contains(crash) {
                simulation.crash(*name);
            }
            if (before..now).contains(bounce) {
                simulation.bounce(*name);
            }
        }
        before = now;
    }
    Ok(())
}

fn storm(faults: Faults) {
    let count = if std::env::var("WIGWAG_NIGHTLY").is_ok() { 100 } else { 3 };
    seeds(count, |seed| {
        let world = World::new(NAMES.len(), faults);
        let mut simulation = network(seed, SLOWEST);
        for (index, name) in NAMES.into_iter().enumerate() {
            let world = world.clone();
            simulation.host(name, move || Site { index, world: world.clone(), seed }.run());
        }
        simulation.client("conductor", conduct(world.clone(), seed));
        let crashes = if faults == Faults::Crashes { crashes(seed) } else { Vec::new() };
        run(&mut simulation, &crashes).expect("all hosts go on");
        drop(simulation);
        let state = world.state();
        assert!(state.wrong.is_empty(), "seed {seed}: {:#?}", state.wrong);
        assert!(state.successes > 40, "seed {seed}: {} calls went well", state.successes);
    });
}

#[test]
fn references_in_a_storm_lead_to_their_actors_and_nothing_is_left_of_them() {
    storm(Faults::None);
}

#[test]
fn references_in_a_storm_outlast_cuts() {
    storm(Faults::Cuts);
}

#[test]
fn references_in_a_storm_are_let_go_with_hosts_that_crash() {
    storm(Faults::Crashes);
}

#[test]
fn references_in_a_storm_outlast_nodes_that_are_closed_and_replaced() {
    storm(Faults::Closings);
}
