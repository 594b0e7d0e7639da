//! Concurrent dictionary: 20 workers make 10,000 requests each to one actor, a tenth of them
//! writes. Checks that no write is lost and that no reader sees a key go back to an older value.

use std::collections::HashMap;

use wigwag::Actor;

use super::{Alive, Dice, run};

const WORKERS: u64 = 20;
const REQUESTS: u64 = 10_000;
const WRITES_IN_100: u64 = 10;
const KEYS: u64 = 512;

#[derive(Default)]
struct Entry {
    version: u64,
    value: u64,
}

struct Dictionary {
    entries: HashMap<u64, Entry>,
    requests: u64,
    _alive: Alive,
}

#[wigwag::actor]
impl Dictionary {
    /// Returns the new version of the key.
    pub fn write(&mut self, key: u64, value: u64) -> u64 {
        self.requests += 1;
        let entry = self.entries.entry(key).or_default();
        entry.version += 1;
        entry.value = value;
        entry.version
    }

    /// Returns version and value.
    pub fn read(&mut self, key: u64) -> Option<(u64, u64)> {
        self.requests += 1;
        self.entries.get(&key).map(|entry| (entry.version, entry.value))
    }

    /// Returns the number of requests, and of writes among them.
    pub fn totals(&self) -> (u64, u64) {
        (self.requests, self.entries.values().map(|entry| entry.version).sum())
    }
}

struct Worker {
    dictionary: DictionaryRef,
    dice: Dice,
    /// The latest version seen of each key.
    seen: HashMap<u64, u64>,
    _alive: Alive,
}

#[wigwag::actor]
impl Worker {
    /// Returns the number of its writes.
    pub async fn work(&mut self) -> u64 {
        let mut writes = 0;
        for _ in 0..REQUESTS {
            let key = self.dice.below(KEYS);
            let before = self.seen.get(&key).copied().unwrap_or(0);
            if self.dice.below(100) < WRITES_IN_100 {
                writes += 1;
                let value = key + KEYS * self.dice.below(1000);
                let version = self.dictionary.write(key, value).ask().await.unwrap();
                assert!(version > before, "a write is a new version");
                self.seen.insert(key, version);
            } else if let Some((version, value)) = self.dictionary.read(key).ask().await.unwrap() {
                assert!(version >= before, "key {key} went back to {version} from {before}");
                assert_eq!(value % KEYS, key, "the value of another key");
                self.seen.insert(key, version);
            } else {
                assert_eq!(before, 0, "key {key} was there already");
            }
        }
        writes
    }
}

#[test]
fn concurrent_dictionary() {
    run(async |alive| {
        let entries = HashMap::new();
        let dictionary = Dictionary { entries, requests: 0, _alive: alive.clone() }.spawn();
        let worker = |seed| {
            let (dictionary, seen) = (dictionary.clone(), HashMap::new());
            Worker { dictionary, dice: Dice(seed), seen, _alive: alive.clone() }.spawn()
        };
        let workers: Vec<WorkerRef> = (0..WORKERS).map(worker).collect();
        let mut works = Vec::new();
        for worker in &workers {
            works.push(worker.work().ask().sent().await.unwrap());
        }
        let mut writes = 0;
        for work in works {
            writes += work.await.unwrap();
        }
        let totals = dictionary.totals().ask().await.unwrap();
        assert_eq!(totals, (WORKERS * REQUESTS, writes));
    });
}
