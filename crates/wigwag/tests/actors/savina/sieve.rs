//! Sieve of Eratosthenes up to 100,000: a chain of actors that hold 1,000 primes each. A number
//! that none of an actor's primes divides goes on to the next actor, which is started when it is
//! needed. Checks the primes themselves.

use wigwag::Actor;

use super::{Alive, PATIENCE, run};

const LIMIT: u64 = 100_000;
const PRIMES_MAX: usize = 1_000;

struct Sieve {
    primes: Vec<u64>,
    next: Option<SieveRef>,
    alive: Alive,
}

impl Sieve {
    fn new(first: u64, alive: Alive) -> Sieve {
        Sieve { primes: vec![first], next: None, alive }
    }
}

#[wigwag::actor]
impl Sieve {
    /// Waits while the next actor has no room, so that no number is lost.
    pub async fn number(&mut self, number: u64) {
        if self.primes.iter().any(|prime| number.is_multiple_of(*prime)) {
            return;
        }
        if self.primes.len() < PRIMES_MAX {
            self.primes.push(number);
        } else if let Some(next) = &self.next {
            next.number(number).timeout(PATIENCE).tell().await.unwrap();
        } else {
            self.next = Some(Sieve::new(number, self.alive.clone()).spawn());
        }
    }

    /// All primes of this actor and those after it; the ask arrives behind the numbers.
    pub async fn primes(&mut self) -> Vec<Vec<u64>> {
        let mut primes = vec![self.primes.clone()];
        if let Some(next) = &self.next {
            primes.extend(next.primes().timeout(PATIENCE).ask().await.unwrap());
        }
        primes
    }
}

#[test]
fn sieve_of_eratosthenes() {
    run(async |alive| {
        let first = Sieve::new(2, alive).spawn();
        let numbers = first.clone();
        let sent = wigwag::spawn(async move {
            for number in (3..=LIMIT).step_by(2) {
                numbers.number(number).tell().await.unwrap();
            }
        });
        sent.await.unwrap();
        let primes = first.primes().ask().await.unwrap();
        assert_eq!(primes.len(), 10);
        let primes = primes.concat();
        assert_eq!((primes.len(), primes.last()), (9_592, Some(&99_991)));
        assert!(primes.is_sorted());
        assert_eq!(primes.iter().sum::<u64>(), 454_396_537);
    });
}
