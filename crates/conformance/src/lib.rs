//! What every transport, protocol and codec promises, tested once for all of them.
