//! A host with its node and its driver, and what must be left of it at the end: nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use wigwag::session::SessionChange;
use wigwag::{Node, NodeOptions};

use super::closings::close;
use super::desk::spawn_exported;
use super::driver::Driver;
use super::groups::Team;
use super::world::{CHECK, CLEAR, Faults, World};
use crate::stage::{Draws, Outcome, PORT, place};

pub(crate) const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
/// Hosts whose nodes listen. The last host dials the first one, and is called through it.
const LISTENING: usize = 3;
/// How long sessions are kept where hosts crash.
const KEPT: Duration = Duration::from_secs(5);

pub(crate) struct Site {
    pub(crate) index: usize,
    pub(crate) world: Arc<World>,
    pub(crate) seed: u64,
}

impl Site {
    /// One run of the host's program: a node after the other, each closed before the next one begins.
    pub(crate) async fn run(self) -> Outcome {
        let Site { index, ref world, seed } = self;
        let mut draws = Draws(seed * 1000 + index as u64);
        let closings = if world.faults == Faults::Closings { draws.between(0, 2) } else { 0 };
        for _ in 0..closings {
            let (node, team, _) = self.start(&mut draws).await?;
            let mut driver = self.driver(&node, &team, &mut draws);
            let closing = close(world, &node, &mut draws, driver.end());
            tokio::join!(driver.run(), closing);
            drop(driver);
            team.end(world, index);
        }
        let (node, team, exported) = self.start(&mut draws).await?;
        let mut driver = self.driver(&node, &team, &mut draws);
        driver.run().await;
        world.state().idle[index] = true;
        until(world, |phase| phase >= CHECK).await;
        team.check(world, index).await;
        world.state().checked[index] = true;
        until(world, |phase| phase == CLEAR).await;
        team.end(world, index);
        drop(driver);
        loop {
            clear(world, index);
            look(world, (index, exported), &node);
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Starts a node, with its group and its exported actor.
    async fn start(&self, draws: &mut Draws) -> turmoil::Result<(Node, Team, u64)> {
        let Site { index, ref world, .. } = *self;
        {
            let mut state = world.state();
            (state.idle[index], state.clean[index]) = (false, false);
            state.checked[index] = false;
        }
        let options = NodeOptions::default().name(NAMES[index]);
        let options = options.dial_references(draws.between(0, 3) > 0);
        let options = options.relay_references(draws.between(0, 7) > 0);
        let options = options.accept_links(draws.between(0, 7) > 0);
        let node = Node::with(match world.loses_sessions() {
            true => options.keep_sessions(KEPT),
            false => options,
        });
        // Spinning for answers costs real time, in which the simulation does not advance.
        node.watch_answers(Duration::ZERO);
        judge_ends(world, &node);
        let (exported, desk) = spawn_exported(world, index);
        node.export("desk", &desk)?;
        drop(desk);
        if index < LISTENING {
            node.listen(&format!("turmoil://{}:{PORT}", NAMES[index])).await?;
        }
        let team = Team::new(&node)?;
        // By then all hosts listen.
        sleep(Duration::from_millis(100)).await;
        Ok((node, team, exported))
    }

    fn driver(&self, node: &Node, team: &Team, draws: &mut Draws) -> Driver {
        let Site { index, ref world, .. } = *self;
        let known = if index < LISTENING { 0..LISTENING } else { 0..1 };
        let others = known.filter(|one| *one != index);
        let addresses = others.map(|one| place(NAMES[one], "desk")).collect();
        let draws = Draws(draws.between(0, u64::MAX - 1));
        Driver::new((world, index, node), (addresses, &team.scope), draws)
    }
}

async fn until(world: &World, is_so: impl Fn(u64) -> bool) {
    while !is_so(world.phase()) {
        sleep(Duration::from_millis(10)).await;
    }
}

/// No session ends but with a host, and none because a peer has broken a rule.
fn judge_ends(world: &Arc<World>, node: &Node) {
    let (world, mut events) = (world.clone(), node.session_events());
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            if let SessionChange::Ended { why, .. } = event.what
                && (!world.loses_sessions() || why.contains("rule"))
            {
                world.wrong(format!("a session with {} has ended: {why}", event.peer));
            }
        }
    });
}

/// Has the actors of a host let go all references, and all links, which hold some.
fn clear(world: &World, index: usize) {
    world.undo_links(|_, actor| actor.node == index);
    let held: Vec<_> = {
        let state = world.state();
        let here = state.actors.iter().filter(|actor| actor.node == index);
        here.flat_map(|actor| [actor.held.clone(), actor.watched.clone()]).collect()
    };
    for held in held {
        let gone = std::mem::take(&mut *held.lock().unwrap());
        // An actor that ends with it takes the lock of the world.
        drop(gone);
    }
}

/// Notes what is left of the references on a host.
fn look(world: &World, host: (usize, u64), node: &Node) {
    let left = left(world, host, node);
    let mut state = world.state();
    state.clean[host.0] = left.is_empty();
    state.left.insert(NAMES[host.0], left);
}

/// The actors that live, and what peers hold.
fn left(world: &World, (index, exported): (usize, u64), node: &Node) -> Vec<String> {
    let mut left = Vec::new();
    for (id, actor) in (0..).zip(&world.state().actors) {
        if actor.node == index && id != exported && !actor.is_gone {
            left.push(format!("actor {id}"));
        }
    }
    for peer in node.held_actors() {
        for held in peer.held.actors.iter() {
            left.push(format!("{:?} holds {held:?}", peer.peer.node));
        }
    }
    for session in node.metrics().sessions {
        if session.channels + session.unacked_frames > 0 {
            left.push(format!("{session:?}"));
        }
    }
    left
}
