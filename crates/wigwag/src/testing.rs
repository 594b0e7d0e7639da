//! Tests of what is built of actors: time that is made up, and an order that follows from a seed.
//!
//! Behind the feature `testing`, which a program names for its tests only:
//!
//! ```toml
//! [dev-dependencies]
//! wigwag = { version = "0.1", features = ["testing"] }
//! ```
//!
//! Two actors that read a number, think, and write it back lose an update, though not in every order:
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
//! Standard error then has the seed: `WIGWAG_SEED=3 cargo test both_pay_in` runs that one alone.
//! [The kit itself](wigwag_actor::testing) documents which choices the seed makes and which it cannot
//! repeat.

pub use wigwag_actor::testing::{SEED_VARIABLE, VIRTUAL_TIME_MAX, run, seeds};
