//! Counters that get their total right and hide what it has cost: work before GO, after the
//! account, in a process that stole away; and one that crashes in the middle and goes on.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::contract::Failure;
use crate::contract::{Orders, PayloadDraws, Tally, print_line, ready_and_go, senders};
use crate::process::tree::own_seconds;

/// The processor time that is hidden: enough to be visible beside a window of the shortest run.
const LEAK_SECONDS: f64 = 0.4;
/// Turns of a shell's loop, about half a second.
const TURNS: u32 = 300_000;

pub(crate) fn count(name: &str, orders: &Orders) -> Result<(), Failure> {
    if name == "broken-early" {
        // The orders contain everything that it needs, so it does not wait for GO.
        let account = tally(orders, false);
        ready_and_go()?;
        return Ok(print_line(&account.to_string())?);
    }
    ready_and_go()?;
    if name == "broken-hide" {
        run_detached()?;
    }
    print_line(&tally(orders, name == "broken-restart").to_string())?;
    if name == "broken-leak" {
        let until = own_seconds() + LEAK_SECONDS;
        while own_seconds() < until {
            std::hint::spin_loop();
        }
    }
    Ok(())
}

fn tally(orders: &Orders, crashes: bool) -> Value {
    let each = orders.messages / u64::from(orders.senders);
    let (mut total, mut tallies) = (0_u64, vec![Tally::default(); orders.senders as usize]);
    for sender in 0..orders.senders {
        let mut draws = PayloadDraws::of(orders.seed, sender);
        for number in 0..each {
            if crashes && number == each / 2 {
                // A supervisor restarts it, without its state.
                tallies[sender as usize] = Tally::default();
                total = 0;
            }
            tallies[sender as usize].take(number, draws.next());
            total += orders.amount;
        }
    }
    json!({ "total": total, "senders": senders(&tallies) })
}

/// A process in a session of its own, whose parent has gone, does the work; its end is awaited
/// through a pipe.
fn run_detached() -> Result<(), Failure> {
    let work = format!("i=0; while [ $i -lt {TURNS} ]; do i=$((i+1)); done");
    let mut child = Command::new("sh")
        .args(["-c", "setsid sh -c \"$0\" & exit 0", &work])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take();
    child.wait()?;
    if let Some(mut output) = output {
        output.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}
