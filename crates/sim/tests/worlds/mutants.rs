//! Tests of the tests: planted faults, each of which must be noticed.

use wigwag_sim::{Mutant, Options, run};

/// Worlds in which each planted error is looked for. Not each world gives it an occasion.
const SEEDS: u64 = 2_000;

#[test]
fn every_planted_error_is_noticed() {
    for mutant in Mutant::ALL {
        let noticed = (0..SEEDS).find_map(|seed| {
            let options = Options { seed, mutant: Some(mutant), record: false };
            run(&options).outcome.err().map(|violation| (seed, violation))
        });
        match noticed {
            Some((seed, violation)) => eprintln!("{mutant:?}: seed {seed}: {violation}"),
            None => panic!("{mutant:?} went unnoticed in {SEEDS} worlds"),
        }
    }
}
