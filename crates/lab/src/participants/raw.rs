//! The limit: the least code that does what a cell orders.

mod stream;
pub(super) mod counter;
pub(super) mod inside;
pub(super) mod remote;
pub(super) mod replies;
pub(super) mod callers;
pub(super) mod shapes;
pub(super) mod actors;
pub(super) mod blob;
pub(super) mod paced;
pub(super) mod sp;
pub(super) mod pingpong;
pub(super) mod pingpong_client;
