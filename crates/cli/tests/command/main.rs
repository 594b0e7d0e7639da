//! Tests of the command as a process with arguments, two outputs and an exit code.

mod process;
mod running;
mod serve;
mod sockets;
mod socket_ends;
mod socket_errors;
mod deadlines;
mod exec;
mod device;
mod variables;
mod bench;
mod shell;
mod slips;
mod key;
mod tls;
mod outside_sp;
mod ws;
mod calls;
mod calls_close;
mod describe;
mod observe;
mod forms;
mod full_output;
mod complete;
mod demo;
