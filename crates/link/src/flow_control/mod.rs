//! How much may be in flight: the credit of each channel, the budgets that channels and sessions
//! share, and the amount that the round-trip time justifies.

pub mod budget;
pub mod credit;
pub mod rtt;
