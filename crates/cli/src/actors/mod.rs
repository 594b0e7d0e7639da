//! Commands about actors: call their methods, describe them, and observe their nodes.

pub(crate) mod caller;
pub(crate) mod named;
pub(crate) mod calls;
pub(crate) mod describe;
pub(crate) mod observe;
