//! The Scalability Protocols as pure state machines: pipes are numbers, time is an argument.
