//! The command as its user has it: a process with arguments, two outputs and an exit code.

mod process;
mod serve;
mod calls;
mod demo;
mod lab;
mod known_bad;
mod lab_example;
mod lab_http;
