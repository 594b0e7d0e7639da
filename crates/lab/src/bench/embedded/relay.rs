//! The program that is the lab's relay: GO lets it count, END asks for its account.

use std::io::{self, BufRead};
use std::time::Duration;

use super::orders::say;
use crate::bench::relay::{Plan, Relay};
use crate::bench::relaying::{CUT_BYTES, CUTS, DELAY_US, END};
use crate::cells::Failure;

pub(super) fn play() -> Result<(), Failure> {
    let number = |name: &str| -> Result<u64, Failure> {
        let said = std::env::var(name).map_err(|_| format!("there is no order {name}"))?;
        said.parse().map_err(|_| format!("the order {name}={said:?} is no number").into())
    };
    let relay = Relay::start(Plan {
        server: u16::try_from(number("PORT")?)?,
        delay: Duration::from_micros(number(DELAY_US)?),
        cut_bytes: number(CUT_BYTES)?,
        cuts: usize::try_from(number(CUTS)?)?,
    })?;
    say(&format!("READY {}", relay.port()))?;
    // The end of the input without END means that nobody wants to know any more.
    for line in io::stdin().lock().lines() {
        match line?.trim() {
            "GO" => relay.begin(),
            END => return Ok(say(&serde_json::to_string(&relay.account())?)?),
            other => return Err(format!("{other:?} where GO or {END} was due").into()),
        }
    }
    Ok(())
}
