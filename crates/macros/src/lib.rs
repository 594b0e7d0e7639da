//! The attribute macros #[actor] and #[main].
