//! Names of actors, messages and methods that the generated code might itself use.

#![allow(
    clippy::new_ret_no_self,
    clippy::should_implement_trait,
    clippy::wrong_self_convention,
    missing_docs,
    reason = "the test is of such names"
)]

use wigwag::Actor;

pub struct C(pub u64);

#[wigwag::actor]
impl C {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.0 += amount;
        self.0
    }
}

pub struct R(pub u64);

#[wigwag::actor]
impl R {
    pub fn new(&mut self, value: u64) -> u64 {
        std::mem::replace(&mut self.0, value)
    }

    pub fn spawn(&self) -> u64 {
        self.0
    }

    pub fn drop(&mut self) {
        self.0 = 0;
    }

    pub fn tell(&self) -> u64 {
        self.0
    }

    pub fn message(&self, message: u64, reply: u64) -> u64 {
        message + reply
    }
}

pub struct T;

#[wigwag::actor]
impl T {
    pub fn same(&self, value: M) -> M {
        value
    }
}

/// A message of the name of a usual type parameter.
#[derive(wigwag::Message, Debug, PartialEq)]
pub struct M {
    r: u64,
    c: Option<u64>,
}

#[tokio::test]
async fn actors_may_have_the_names_of_type_parameters() {
    let counter = C(1).spawn();
    assert_eq!(counter.add(2).ask().await.unwrap(), 3);
    let mut sums = counter.pipeline::<u64, ()>(4).unwrap();
    sums.push(counter.add(4), ()).await.unwrap();
    assert_eq!(sums.answer().await.unwrap().1.unwrap(), 7);
    let same = T.spawn();
    assert_eq!(same.same(M { r: 1, c: None }).ask().await.unwrap(), M { r: 1, c: None });
}

#[tokio::test]
async fn calls_may_have_the_names_of_usual_methods() {
    let cell = Actor::spawn(R(1));
    assert_eq!(cell.new(5).ask().await.unwrap(), 1);
    assert_eq!(cell.spawn().ask().await.unwrap(), 5);
    cell.drop().tell().await.unwrap();
    assert_eq!(cell.tell().ask().await.unwrap(), 0);
    assert_eq!(cell.message(1, 2).ask().await.unwrap(), 3);
}
