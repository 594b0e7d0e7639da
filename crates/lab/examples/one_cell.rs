//! One cell of the demo again and again, for a profiler: `one_cell tell 5` runs it five times and
//! says how it went over the wire.
#![allow(clippy::print_stdout, reason = "an example that reports to its user")]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wigwag_lab::cells::{Driver, Failure};
use wigwag_lab::service::{self, Service};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cell = arguments.first().map_or("tell", String::as_str);
    if cell == "service" {
        return Ok(service::serve().await?);
    }
    let times = arguments.get(1).map_or(Ok(5), |times| times.parse::<usize>())?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("service");
    let service = Service::start(command)?;
    let mut driver = Driver::new(service, Arc::new(AtomicBool::new(false))).await?;
    for _ in 0..times {
        let before = driver.node().statistics()[0].session;
        let measured = match cell {
            "tell" => driver.tell().await?,
            "thread" => driver.tell_from_thread().await?,
            "ask" => driver.ask().await?,
            "rtt" => driver.round_trip().await?,
            "local" => driver.local_tell().await?,
            "channel" => driver.local_channel().await?,
            "raw_tell" => driver.raw_tell(12).await?,
            "raw_rtt" => driver.raw_ask([43, 31], 10_000, 1).await?,
            "raw_ask" => driver.raw_ask([25, 14], 500_000, 32_768).await?,
            other => return Err(format!("no cell {other}").into()),
        };
        let after = driver.node().statistics()[0].session;
        let batches = after.batches_sent - before.batches_sent;
        println!(
            "{cell}: {:.2} M/s, cpu {:.1} ns, clean {}, batches sent {batches} of {:.0} bytes, received {}, stalls {}",
            measured.rate() / 1e6,
            measured.cpu_ns(),
            measured.verified.is_clean(),
            (after.bytes_sent - before.bytes_sent) as f64 / batches.max(1) as f64,
            after.batches_received - before.batches_received,
            after.credit_stalls - before.credit_stalls,
        );
    }
    Ok(())
}
