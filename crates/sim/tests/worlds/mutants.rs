//! Tests of the checks: planted errors, each of which must be detected.

use wigwag_sim::{Mutant, Options, run};

/// The number of worlds in which each planted error is tried. Not each world gives it an occasion.
const SEEDS: u64 = 2_000;

#[test]
fn every_planted_error_is_detected() {
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
