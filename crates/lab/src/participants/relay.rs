//! The program that is the lab's relay: GO lets it count, END asks for its account.

use std::io::{self, BufRead};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::contract::Failure;
use crate::contract::print_line;
use crate::relay::{Relay, RelayAccount, RelayPlan};
use crate::trial::relay_program::{CUT_BYTES, CUTS, DELAY_US, END};

pub(super) fn play() -> Result<(), Failure> {
    let number = |name: &str| -> Result<u64, Failure> {
        let said = std::env::var(name).map_err(|_| format!("there is no order {name}"))?;
        said.parse().map_err(|_| format!("the order {name}={said:?} is no number").into())
    };
    let relay = Relay::start(RelayPlan {
        server: u16::try_from(number("PORT")?)?,
        delay: Duration::from_micros(number(DELAY_US)?),
        cut_bytes: number(CUT_BYTES)?,
        cuts: usize::try_from(number(CUTS)?)?,
    })?;
    print_line(&format!("READY {}", relay.port()))?;
    let mut before = 0.0;
    // The end of the input without END means that no account is wanted.
    for line in io::stdin().lock().lines() {
        match line?.trim() {
            "GO" => {
                before = spent();
                relay.begin();
            }
            END => {
                let account = RelayAccount { cpu_seconds: spent() - before, ..relay.account() };
                return Ok(print_line(&serde_json::to_string(&account)?)?);
            }
            other => return Err(format!("{other:?} where GO or {END} was due").into()),
        }
    }
    Ok(())
}

/// Seconds of all its threads, of those that have ended too, and exact: connections come and go in
/// less than a tick.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
