//! The messages between a queue of jobs and its workers. Both programs have this file.

use wigwag::Message;

/// A queue, as a worker sees it.
#[wigwag::actor]
pub(crate) trait Queue {
    /// Reports the job that is done, if any, and takes the next one; answered when there is one, or
    /// with `None` when all jobs are done.
    fn next(&mut self, worker: String, done: Option<Done>) -> Option<Job>;
}

/// Work to do: how many steps does the Collatz sequence take from `start` to 1?
#[derive(Debug, Message)]
pub(crate) struct Job {
    pub(crate) number: u32,
    pub(crate) start: u64,
}

/// A job that was done.
#[derive(Debug, Message)]
pub(crate) struct Done {
    pub(crate) number: u32,
    pub(crate) steps: u64,
}
