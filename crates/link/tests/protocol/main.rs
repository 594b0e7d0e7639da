//! The link protocol: its bytes, and sessions of two ends in virtual time. One binary: the tests share
//! nothing.

mod vectors;
mod properties;
mod cuts;
mod application;
mod model;
mod long_rtt;
mod receiver;
mod refused;
mod gathered;
mod parts;
