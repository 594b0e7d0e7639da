//! Programs of participants: started and ended, and what they cost meanwhile.

pub mod program;
mod proc_files;
pub mod tree;
pub mod machine_cpu;
pub mod cpu_timeline;
pub mod namespace;
pub mod timeline;
pub mod socket_file;
pub mod certificates;
