//! `wigwag demo`: a preset of the lab, the verdict first.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use tokio::runtime::Builder;
use tokio::time::{MissedTickBehavior, interval};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_gateway::{Gateway, GatewayOptions};
use wigwag_lab::demo::actors::{Counter, CounterRef, SENDERS_MAX, Sum};
use wigwag_lab::demo::{ROUNDS, Rate, Report, options};
use wigwag_lab::digest::Verified;
use wigwag_lab::run::run;

use crate::exit::{Code, Failed};
use crate::measure::lab::{progress, raise_on_interrupt};
use crate::print;
use crate::socket::Interrupt;

/// The pause between two bursts of the load.
const LOAD_PAUSE: Duration = Duration::from_millis(100);

/// The sender that the counter knows the load by: the last one, so that 0 is free for those that try it.
const LOAD_SENDER: u64 = SENDERS_MAX - 1;

#[derive(Args)]
pub(crate) struct Demo {
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Keep a service up until Ctrl-C, to try calls on; any program of this machine may observe it
    #[arg(long, conflicts_with = "json")]
    serve: bool,
    /// As --serve, with load that comes and goes, to watch on the live page
    #[arg(long, conflicts_with = "json")]
    ui: bool,
    /// Rounds to measure
    #[arg(long, default_value_t = ROUNDS, value_name = "N")]
    rounds: usize,
}

impl Demo {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        if self.serve || self.ui {
            return Builder::new_current_thread().enable_all().build()?.block_on(serve(self.ui));
        }
        let seed = u64::from(std::process::id());
        let options = options(&std::env::current_exe()?, self.rounds.max(1), seed);
        let stop = Arc::new(AtomicBool::new(false));
        raise_on_interrupt(stop.clone())?;
        let bar = if self.json { ProgressBar::hidden() } else { progress() };
        let results = run(&options, &stop, &mut |step| {
            bar.set_length(step.of as u64);
            bar.set_position(step.done as u64);
            bar.set_message(step.title.clone());
        });
        bar.finish_and_clear();
        let report = Report::of(&results);
        if self.json {
            let document = serde_json::to_string_pretty(&report);
            print::line(&document.map_err(|error| Failed::new(Code::Internal, error))?);
        } else {
            tell(&report);
        }
        report.void.iter().for_each(|why| print::error(&format!("void: {why}")));
        Ok(verdict(&report))
    }
}

fn verdict(report: &Report) -> Code {
    if !report.verified.is_clean() || !report.raw_verified.is_clean() || !report.void.is_empty() {
        Code::VerificationFailed
    } else if report.interrupted {
        Code::Interrupted
    } else {
        Code::Ok
    }
}

/// Two actors until Ctrl-C or SIGTERM, and lines that call them.
async fn serve(has_load: bool) -> Result<Code, Failed> {
    // Before anything is printed: a program that reads the addresses may end the service at once.
    let mut interrupt = Interrupt::new()?;
    let node = Node::with(NodeOptions::default().observable(true));
    let counter = Counter::default().spawn();
    node.export("counter", &counter)?;
    node.export("sum", &Sum.spawn())?;
    let bound = node.listen("tcp://127.0.0.1:0").await?;
    let gateway = Gateway::with(&node, GatewayOptions::default().live_page(true));
    let http = gateway.listen("http://127.0.0.1:0").await;
    let http = http.map_err(|error| Failed::new(Code::CannotConnect, error))?;
    print::line(&format!("counter and sum are up at {bound} and {http} until Ctrl-C. Try:"));
    print::line(&format!("wigwag ask {bound}/sum add 2 3"));
    print::line(&format!("wigwag describe {bound}/counter"));
    print::line(&format!("wigwag top {bound}"));
    print::line(&format!("{http}/ui/  in a browser: the live page"));
    print::line(&format!("curl {http}/sum/ask/add -d '[2,3]'"));
    tokio::select! {
        () = interrupt.recv() => {}
        () = load(&counter), if has_load => {}
    }
    gateway.close(Duration::from_secs(1)).await;
    node.close(Duration::from_secs(1)).await;
    Ok(Code::Ok)
}

/// Counts up to 2,000 times a second, more and less in turn. Ends with the counter.
async fn load(counter: &CounterRef) {
    let mut ticks = interval(LOAD_PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut numbers = 0_u64..;
    for tick in 0_u32.. {
        ticks.tick().await;
        let wave = 1.0 + (f64::from(tick) / 50.0).sin();
        for number in numbers.by_ref().take((100.0 * wave) as usize) {
            if counter.count(1, LOAD_SENDER, number).tell().await.is_err() {
                return;
            }
        }
    }
}

fn tell(report: &Report) {
    let verified = |who: &str, v: &Verified| {
        if v.sent == 0 {
            print::line(&format!("nothing was sent  {who}"));
            return;
        }
        let word = if v.is_clean() { "verified" } else { "NOT VERIFIED" };
        print::line(&format!(
            "{word}  {who}: {} sent, {} received, {} lost, {} duplicated, {} reordered, {} corrupt",
            v.sent, v.received, v.lost, v.duplicated, v.reordered, v.corrupt
        ));
    };
    verified("wigwag", &report.verified);
    verified("raw", &report.raw_verified);
    if report.interrupted {
        print::line(&format!("interrupted after {} whole rounds", report.rounds));
    }
    print::line(&format!(
        "{:<20}{:>12}{:>12}{:>24}{:>16}",
        "", "M/s", "raw M/s", "ratio (min–max)", "CPU ns, raw"
    ));
    let rows = [
        ("tell, one task", &report.tell),
        ("tell, plain thread", &report.tell_from_thread),
        ("ask, 16k in flight", &report.ask),
    ];
    for (name, rate) in rows {
        if let Some(rate) = rate {
            tell_rate(name, rate);
        }
    }
    if let Some(rtt) = &report.rtt {
        let us =
            |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| format!("{:.1}", ns as f64 / 1e3));
        print::line(&format!(
            "ask, one at a time  p50 {} µs, p90 {}, p99 {}; raw {}; ratio {:.2} ({:.2}–{:.2}), lower is better",
            us(Some(rtt.ns.p50)),
            us(rtt.ns.p90),
            us(rtt.ns.p99),
            us(Some(rtt.raw_ns.p50)),
            rtt.ratio_to_raw.median,
            rtt.ratio_to_raw.min,
            rtt.ratio_to_raw.max
        ));
    }
    if let Some(local) = &report.local_tell {
        print::line(&format!(
            "local tell          {:.1} ns, raw {:.1} ns; ratio {:.2} ({:.2}–{:.2}), lower is better",
            local.ns_per_message.median,
            local.raw_ns_per_message.median,
            local.ratio_to_raw.median,
            local.ratio_to_raw.min,
            local.ratio_to_raw.max
        ));
    }
}

fn tell_rate(name: &str, rate: &Rate) {
    let ratio = &rate.ratio_to_raw;
    let ratio = format!("{:.2} ({:.2}–{:.2}) higher", ratio.median, ratio.min, ratio.max);
    let cpu =
        format!("{:.1}, {:.1}", rate.cpu_ns_per_message.median, rate.raw_cpu_ns_per_message.median);
    print::line(&format!(
        "{name:<20}{:>12.1}{:>12.1}{ratio:>24}{cpu:>16}",
        rate.per_second.median / 1e6,
        rate.raw_per_second.median / 1e6,
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report without figures: only the verdict counts here.
    fn report(lost: u64, raw_lost: u64, interrupted: bool) -> Report {
        let verified = |lost| Verified::from_words([10, 10 - lost, lost, 0, 0, 0]);
        Report {
            schema: String::new(),
            verified: verified(lost),
            raw_verified: verified(raw_lost),
            interrupted,
            rounds: 1,
            tell: None,
            tell_from_thread: None,
            ask: None,
            rtt: None,
            local_tell: None,
            void: Vec::new(),
        }
    }

    #[test]
    fn a_lost_message_outweighs_everything_else_ours_or_the_limits() {
        assert_eq!(verdict(&report(0, 0, false)), Code::Ok);
        assert_eq!(verdict(&report(0, 0, true)), Code::Interrupted);
        assert_eq!(verdict(&report(1, 0, false)), Code::VerificationFailed);
        assert_eq!(verdict(&report(0, 1, false)), Code::VerificationFailed);
        assert_eq!(verdict(&report(1, 0, true)), Code::VerificationFailed);
    }

    #[test]
    fn every_kind_of_damage_fails_the_verification() {
        for damage in 2..6 {
            let mut words = [10, 10, 0, 0, 0, 0];
            words[damage] = 1;
            let damaged = Report { verified: Verified::from_words(words), ..report(0, 0, false) };
            assert_eq!(verdict(&damaged), Code::VerificationFailed, "word {damage}");
        }
    }
}
