//! Programs of participants: started and ended, and what they cost meanwhile.

pub mod program;
pub mod tree;
pub mod course;
pub mod stage;
pub mod timeline;
