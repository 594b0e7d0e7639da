//! Stop plans: the orderly shutdown of a system, stage by stage, each with a time limit.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::lifecycle::handle::Handle;
use crate::reason::Reason;

/// The order in which the actors of a system end, and the time that each stage may take: first the
/// actors that accept work, last those that the others need.
///
/// The actors of a stage are told to end at the same time; the next stage begins when all of them
/// have ended. An actor that has not ended within the stage's time limit is killed. So a plan takes
/// no longer than the sum of its limits, whatever its actors do.
///
/// ```
/// # mod wigwag {
/// #     pub use wigwag_actor::*;
/// #     pub mod supervise { pub use wigwag_actor::StopPlan; }
/// # }
/// use std::time::Duration;
/// use wigwag::Handle;
/// use wigwag::supervise::StopPlan;
///
/// async fn end(doors: Vec<Handle>, workers: Vec<Handle>, tree: Handle) {
///     let plan = StopPlan::new()
///         .stop("doors", Duration::from_secs(1), doors)
///         .drain("workers", Duration::from_secs(10), workers)
///         .stop("tree", Duration::from_secs(5), [tree]);
///     for stopped in plan.run().await {
///         if stopped.was_killed {
///             eprintln!("{stopped}");
///         }
///     }
/// }
/// ```
#[derive(Debug, Default)]
#[must_use = "a plan does nothing until it is run"]
pub struct StopPlan {
    stages: Vec<StopStage>,
}

#[derive(Debug)]
struct StopStage {
    name: Arc<str>,
    limit: Duration,
    drains: bool,
    actors: Vec<Handle>,
}

/// How one actor of a [`StopPlan`] has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stopped {
    /// The name of its stage.
    pub stage: Arc<str>,
    /// The actor.
    pub actor: Handle,
    /// Why it has ended; its own reason, if that came first.
    pub reason: Reason,
    /// True when it had not ended in time.
    pub was_killed: bool,
}

impl StopPlan {
    /// Creates a plan without stages.
    pub fn new() -> StopPlan {
        StopPlan::default()
    }

    /// Adds a stage at the end, whose actors end after their current call, as by [`Handle::stop`].
    /// A supervisor ends its children first.
    pub fn stop(
        self,
        stage: &str,
        limit: Duration,
        actors: impl IntoIterator<Item = Handle>,
    ) -> StopPlan {
        self.stage(stage, limit, false, actors)
    }

    /// Adds a stage at the end, whose actors first handle the calls that wait, as by
    /// [`Handle::drain`].
    pub fn drain(
        self,
        stage: &str,
        limit: Duration,
        actors: impl IntoIterator<Item = Handle>,
    ) -> StopPlan {
        self.stage(stage, limit, true, actors)
    }

    fn stage(
        mut self,
        name: &str,
        limit: Duration,
        drains: bool,
        actors: impl IntoIterator<Item = Handle>,
    ) -> StopPlan {
        let (name, actors) = (name.into(), actors.into_iter().collect());
        self.stages.push(StopStage { name, limit, drains, actors });
        self
    }

    /// Ends all actors, stage by stage, and reports how each has ended, in the order of the plan.
    ///
    /// # Cancellation
    /// If the future is dropped while it runs, the actors that were told to end do so without a
    /// time limit; the actors of later stages are not told.
    pub async fn run(self) -> Vec<Stopped> {
        let mut all = Vec::new();
        for stage in self.stages {
            let begun = Instant::now();
            for actor in &stage.actors {
                // An actor that has ended already refuses the order, which does not matter.
                let _ = if stage.drains { actor.drain() } else { actor.stop() };
            }
            for actor in stage.actors {
                let left = stage.limit.saturating_sub(begun.elapsed());
                let in_time = timeout(left, actor.ended()).await;
                let was_killed = in_time.is_err() && actor.kill();
                let reason = match in_time {
                    Ok(reason) => reason,
                    Err(_) => actor.ended().await,
                };
                all.push(Stopped { stage: stage.name.clone(), actor, reason, was_killed });
            }
        }
        all
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stopped { stage, actor, reason, was_killed } = self;
        write!(f, "{stage}: {actor:?} ")?;
        if *was_killed { f.write_str("did not end in time") } else { write!(f, "ended: {reason}") }
    }
}
