//! The only crate with sockets and a clock: transports, the driver, SP sockets.
