//! Models of the mailbox for loom, which tries all interleavings, and for shuttle, which tries
//! random ones.

#[cfg(wigwag_loom)]
mod at_rest_loom;
#[cfg(wigwag_loom)]
mod batches_loom;
#[cfg(wigwag_loom)]
pub(crate) mod mailbox_loom;
#[cfg(wigwag_shuttle)]
mod mailbox_shuttle;
#[cfg(wigwag_loom)]
mod stash_loom;
#[cfg(wigwag_loom)]
mod urgent_loom;
