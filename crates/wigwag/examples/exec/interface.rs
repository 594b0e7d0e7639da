//! The messages between a machine and its observer. Both programs have this file.

use wigwag::Message;

/// A machine, as its observer sees it.
#[wigwag::actor]
pub(crate) trait Machine {
    fn load(&mut self) -> Load;
}

/// How busy a machine is.
#[derive(Debug, Message)]
pub(crate) struct Load {
    /// The name of the machine.
    pub(crate) host: String,
    /// The process that answers.
    pub(crate) process: u32,
    /// Processes that run or wait to run, on average over a minute.
    pub(crate) average: f32,
}
