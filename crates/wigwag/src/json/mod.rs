//! Arguments from JSON and replies as JSON, for callers that have no types: the command line and SP
//! clients.

pub(crate) mod arguments;
pub(crate) mod reply;

pub use arguments::arguments;
pub use reply::text;
