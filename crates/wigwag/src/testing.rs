//! Deterministic tests of actors: virtual time, and an order of execution that follows from a seed.
//!
//! This needs the feature `testing`, which a program enables for its tests only:
//!
//! ```toml
//! [dev-dependencies]
//! wigwag = { version = "0.1", features = ["testing"] }
//! ```
//!
//! Two actors that read a number and write it back later lose an update, in some orders:
//!
//! ```
//! use std::panic::catch_unwind;
//!
//! use wigwag::{Actor, testing};
//!
//! #[derive(Default)]
//! struct Account {
//!     balance: u64,
//! }
//!
//! #[wigwag::actor]
//! impl Account {
//!     pub fn balance(&self) -> u64 {
//!         self.balance
//!     }
//!
//!     pub fn set(&mut self, balance: u64) {
//!         self.balance = balance;
//!     }
//! }
//!
//! struct Clerk {
//!     account: AccountRef,
//! }
//!
//! #[wigwag::actor]
//! impl Clerk {
//!     pub async fn pay_in(&mut self, amount: u64) {
//!         let balance = self.account.balance().ask().await.unwrap();
//!         self.account.set(balance + amount).ask().await.unwrap();
//!     }
//! }
//!
//! async fn both_pay_in() {
//!     let account = Account::default().spawn();
//!     let clerks = [(); 2].map(|()| Clerk { account: account.clone() }.spawn());
//!     let [one, other] = clerks.each_ref().map(|clerk| clerk.pay_in(10).try_ask().unwrap());
//!     one.await.unwrap();
//!     other.await.unwrap();
//!     assert_eq!(account.balance().ask().await.unwrap(), 20);
//! }
//!
//! let found = catch_unwind(|| testing::seeds(0..100, |_seed| both_pay_in()));
//! assert!(found.is_err(), "an update is lost in one of these orders");
//! ```
//!
//! Standard error names the failing seed: `WIGWAG_SEED=3 cargo test both_pay_in` runs that one alone.
//! [`wigwag_actor::testing`] says what a seed determines, what stays as it is, and what no seed can
//! reproduce.

pub use wigwag_actor::testing::{SEED_VARIABLE, VIRTUAL_TIME_MAX, run, seeds};
