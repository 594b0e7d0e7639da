//! The promises of each protocol: of two ends of it, of many, and of the contexts of one.

pub mod request_reply;
pub mod pipeline;
pub mod pair;
pub mod pair_many;
pub mod publish_subscribe;
pub mod survey;
pub mod bus_star;
pub mod contexts;
