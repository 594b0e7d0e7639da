//! Models of the mailbox for loom, which tries all orders, and for shuttle, which draws some.

#[cfg(wigwag_loom)]
mod at_rest_loom;
#[cfg(wigwag_loom)]
pub(crate) mod mailbox_loom;
#[cfg(wigwag_shuttle)]
mod mailbox_shuttle;
#[cfg(wigwag_loom)]
mod stash_loom;
#[cfg(wigwag_loom)]
mod urgent_loom;
