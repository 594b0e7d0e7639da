//! Supervisors, which start actors and restart them when they fail, and plans for an orderly stop.
//!
//! Use a [`Supervisor`] for actors whose failure must not end the program: it keeps their mailboxes and
//! addresses across restarts. Use a [`StopPlan`] to end a system of actors stage by stage.
//!
//! ```
//! use wigwag::Actor;
//! use wigwag::lifecycle::Alive;
//! use wigwag::supervise::{Child, Restart, Strategy, Supervisor};
//!
//! #[derive(Default)]
//! struct Worker;
//!
//! #[wigwag::actor]
//! impl Worker {
//!     pub fn double(&mut self, number: u64) -> u64 {
//!         2 * number
//!     }
//! }
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let worker = Child::new("worker", Worker::default).restart(Restart::Permanent);
//! let tree = Supervisor::new(Strategy::OneForOne).child(worker).start().await?;
//! let worker = tree.child::<Worker>("worker").await?.expect("it was just started");
//! assert_eq!(worker.double(21).ask().await?, 42);
//! tree.handle()?.stop();
//! # Ok(()) }
//! ```

pub use wigwag_actor::{
    Child, ChildInfo, ChildState, Restart, Shutdown, StopPlan, Stopped, Strategy, Supervisor,
    SupervisorError, SupervisorMessage, SupervisorRef,
};
