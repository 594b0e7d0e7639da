//! Credit: flow control of each channel (section 4).
//!
//! One unit of credit is 64 bytes of a frame's body. Sums are absolute and only grow, so a lost or
//! repeated announcement does no harm. The sender holds a [`Window`] per channel, the receiver a
//! [`Grant`].

mod bound;
mod grant;
mod items;
mod window;
mod windows;

pub use bound::ActorBound;
pub use grant::Grant;
pub use items::{ItemWindow, StreamId};
pub use window::Window;
pub(crate) use windows::Windows;

use crate::code::Code;
use crate::error::LinkError;

/// The error for a peer that has used more units than it was granted.
pub fn exceeded() -> LinkError {
    let rule = "a sender may not use more units than it was granted";
    LinkError::Misbehaved { code: Code::CREDIT_EXCEEDED, rule }
}
