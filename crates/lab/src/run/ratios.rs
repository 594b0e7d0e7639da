//! Figures that need all rows: ratios, and doubts about pairs.

use crate::figures::statistics::{Spread, median_interval};
use crate::results::reasons::is_innocent;
use crate::results::{Interval, Row, Run, Verdict};
use crate::workload::relayed;
use crate::workload::sp::fan_out;

/// The limit's name.
const RAW: &str = "raw";
/// Ours.
const WIGWAG: &str = "wigwag";
/// The lab's own server of http: no peer, however fast it is.
const REFERENCE: &str = "reference";

/// Two participants vouch for each other only when each was right beside the lab's own counterpart;
/// a flag that one of them got there holds for the pair.
pub fn distrust(rows: &mut [Row]) {
    for index in 0..rows.len() {
        let row = &rows[index];
        let (server, client) = match row.cell.split_once(" × ") {
            Some(sides) if row.workload == "pingpong" && is_measured(row) => sides,
            _ => continue,
        };
        let sides = [(server, "server", "client"), (client, "client", "server")];
        let (mut void, mut flags) = (Vec::new(), Vec::new());
        for (name, side, other) in sides {
            let Some(alone) = rows.iter().find(|row| {
                row.workload == "pingpong" && row.participant == name && row.cell == side
            }) else {
                continue;
            };
            let new = |said: &&String| !is_innocent(said) && !row.reasons.contains(said);
            let said = alone.reasons.iter().filter(new);
            let about = |what: &str| {
                format!("the {side} of {name} was {what} beside the lab's own {other}")
            };
            match alone.verdict {
                Verdict::Void => void.push(about("void")),
                Verdict::Flagged => {
                    flags.extend(said.map(|said| format!("{}: {said}", about("flagged"))));
                }
                Verdict::Valid | Verdict::NotInstalled | Verdict::Absent => {}
            }
        }
        let row = &mut rows[index];
        if !void.is_empty() {
            make_void(row, void);
        } else if !flags.is_empty() {
            row.verdict = Verdict::Flagged;
            row.reasons.extend(flags);
        }
    }
}

fn is_measured(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Valid | Verdict::Flagged)
}

fn make_void(row: &mut Row, reasons: Vec<String>) {
    row.verdict = Verdict::Void;
    row.reasons = reasons;
    row.rate = None;
    row.cpu_s_per_million = None;
    row.cpu_by_side = None;
    row.rtt_us = None;
    row.rate_ordered = None;
    row.latency_us = None;
    row.peak_rss_bytes = None;
    row.threads = None;
    row.switches_per_thousand = None;
    row.kept = None;
    row.cuts = None;
    row.runs.clear();
}

/// Rates to those of the limit and of the best peer, paired by round.
pub fn fill(rows: &mut [Row]) {
    for index in 0..rows.len() {
        rows[index].kept = kept(&rows[index], rows);
        let row = &rows[index];
        // A rate that was ordered says nothing of who is faster.
        if row.rate_ordered.is_some() {
            continue;
        }
        let beside = |other: &&Row| other.workload == row.workload && comparable(row, other);
        let raw = rows.iter().filter(beside).find(|other| other.participant == RAW);
        let median = |row: &Row| row.rate.map_or(0.0, |rate| rate.median);
        let peers = rows.iter().filter(beside).filter(|other| {
            let ours = [RAW, WIGWAG, REFERENCE].contains(&other.participant.as_str());
            !ours && !other.known_bad && other.rate.is_some()
        });
        let best = peers.max_by(|a, b| median(a).total_cmp(&median(b)));
        let same =
            |other: &&Row| (&other.participant, &other.cell) != (&row.participant, &row.cell);
        let to_raw = raw.and_then(|raw| ratio(row, raw));
        let to_best = best.filter(same).and_then(|best| ratio(row, best));
        rows[index].ratio_to_raw = to_raw;
        rows[index].ratio_to_best_peer = to_best;
    }
}

/// A peer that is slow or dies must not cost the others more than a tenth of their rate.
pub fn doubt_neighbours(rows: &mut [Row]) {
    for row in rows {
        let Some(kept) = row.kept.filter(|kept| kept.median < fan_out::KEPT_MIN) else { continue };
        if fan_out::reference(&row.cell).is_some() && is_measured(row) {
            row.verdict = Verdict::Flagged;
            row.reasons
                .push(format!("beside that peer the others kept {:.2} of their rate", kept.median));
        }
    }
}

/// Whether `other` may stand beside `row`: the same cell, or a pair of one participant beside any
/// pair.
fn comparable(row: &Row, other: &Row) -> bool {
    match (row.cell.split_once(" × "), other.cell.split_once(" × ")) {
        (Some(_), Some((server, client))) => server == client,
        _ => row.cell == other.cell,
    }
}

/// The rate that a delay or a bad neighbour leaves, divided by the participant's own rate without
/// it.
fn kept(row: &Row, rows: &[Row]) -> Option<Spread> {
    let cell = relayed::reference(&row.cell).or_else(|| fan_out::reference(&row.cell))?;
    let same = |other: &&Row| {
        other.workload == row.workload && other.participant == row.participant && other.cell == cell
    };
    let without = rows.iter().find(same).filter(|row| is_measured(row))?;
    Spread::of(&row.ratios(without, Run::rate))
}

fn ratio(ours: &Row, theirs: &Row) -> Option<Interval> {
    let [low, median, high] = median_interval(&ours.ratios(theirs, Run::rate))?;
    Some(Interval { median, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::digest::Verified;
    use crate::results::Witness;

    fn row(participant: &str, cell: &str, rates: &[u64]) -> Row {
        let runs = rates.iter().enumerate().map(|(round, rate)| Run {
            round,
            seconds: 1.0,
            messages: *rate,
            cpu_seconds: 1.0,
            cpu_seconds_before: 0.0,
            cpu_seconds_after: 0.0,
            generator_cpu_seconds: None,
            header_bytes: None,
            foreign_cpu_share: 0.0,
            peak_rss_bytes: 1,
            grown_bytes: None,
            threads: Vec::new(),
            moments: Vec::new(),
            sides: Vec::new(),
            wire_bytes: None,
            last_tenth_to_first: None,
            relay_cpu_seconds: None,
            deaths: None,
        });
        let rate = rates.first().map(|rate| *rate as f64);
        Row {
            workload: "pingpong".to_owned(),
            cell: cell.to_owned(),
            participant: participant.to_owned(),
            version: None,
            known_bad: false,
            verdict: if rates.is_empty() { Verdict::Void } else { Verdict::Valid },
            reasons: Vec::new(),
            witness: Witness::Full,
            verified: Verified::default(),
            message_bytes: None,
            rate: rate.map(|rate| Spread { median: rate, min: rate, max: rate }),
            cpu_s_per_million: None,
            cpu_by_side: None,
            rtt_us: None,
            rate_ordered: None,
            latency_us: None,
            peak_rss_bytes: None,
            threads: None,
            switches_per_thousand: None,
            ratio_to_raw: None,
            ratio_to_best_peer: None,
            kept: None,
            cuts: None,
            source_lines: None,
            runs: runs.collect(),
        }
    }

    #[test]
    fn a_pair_is_void_when_one_side_was_void_beside_the_witness() {
        let mut rows = [
            row("go", "server", &[1]),
            row("go", "client", &[]),
            row("c", "server", &[1]),
            row("c", "client", &[1]),
            row("go", "go × go", &[1]),
            row("go", "go × c", &[1]),
            row("c", "c × go", &[1]),
        ];
        distrust(&mut rows);
        let verdicts: Vec<Verdict> = rows[4..].iter().map(|row| row.verdict).collect();
        assert_eq!(verdicts, [Verdict::Void, Verdict::Valid, Verdict::Void]);
        assert!(rows[6].rate.is_none() && rows[6].runs.is_empty());
    }

    #[test]
    fn flags_beside_the_witness_are_kept_in_the_pair() {
        let mut rows =
            [row("go", "server", &[1]), row("pool", "client", &[1]), row("go", "go × pool", &[1])];
        for index in [0, 1] {
            rows[index].verdict = Verdict::Flagged;
        }
        rows[0].reasons = vec!["no quiet window in 1 of 1 rounds".to_owned()];
        rows[1].reasons = vec!["2 of 100 connections were at work".to_owned()];
        distrust(&mut rows);
        assert_eq!(rows[2].verdict, Verdict::Flagged);
        assert_eq!(
            rows[2].reasons,
            ["the client of pool was flagged beside the lab's own server: 2 of 100 connections \
              were at work"]
        );
    }

    #[test]
    fn ratios_pair_the_rounds_and_mixed_pairs_stand_beside_the_limit_of_pairs() {
        let mut rows = [
            row("raw", "raw × raw", &[100, 200]),
            row("go", "go × go", &[50, 100]),
            row("go", "go × c", &[25, 50]),
            row("go", "server", &[1, 1]),
        ];
        fill(&mut rows);
        let to_raw = rows[1].ratio_to_raw.unwrap();
        assert_eq!((to_raw.median, to_raw.low, to_raw.high), (0.5, 0.5, 0.5));
        assert_eq!(rows[2].ratio_to_raw.unwrap().median, 0.25);
        assert_eq!(rows[2].ratio_to_best_peer.unwrap().median, 0.5);
        assert!(rows[1].ratio_to_best_peer.is_none() && rows[3].ratio_to_raw.is_none());
    }

    #[test]
    fn a_known_bad_peer_is_never_the_best_one_however_fast_it_is() {
        let mut rows = [
            row("wigwag", "server", &[300, 300]),
            row("go", "server", &[100, 100]),
            row("cheat", "server", &[900, 900]),
            row("reference", "server", &[700, 700]),
        ];
        rows[2].known_bad = true;
        fill(&mut rows);
        assert_eq!(rows[0].ratio_to_best_peer.unwrap().median, 3.0);
        assert_eq!(rows[2].ratio_to_best_peer.unwrap().median, 9.0);
        assert_eq!(rows[1].ratio_to_best_peer, None);
    }

    /// Round by round, and only with its own: not with that of somebody else, not with the cell
    /// that has no relay.
    #[test]
    fn the_rate_with_a_delay_is_compared_with_the_rate_without() {
        let mut rows = [
            row("raw", "tell, relayed", &[1_000, 1_000, 1_000]),
            row("go", "tell", &[900, 900, 900]),
            row("go", "tell, relayed", &[100, 200, 400]),
            row("go", "tell, 10 ms", &[50, 20, 100]),
            row("go", "ask, 1 ms", &[7]),
            row("c", "tell, relayed", &[]),
            row("c", "tell, 1 ms", &[5]),
        ];
        rows.iter_mut().for_each(|row| row.workload = "remote".to_owned());
        fill(&mut rows);
        assert_eq!(rows[3].kept, Some(Spread { median: 0.25, min: 0.1, max: 0.5 }));
        for at in [0, 1, 2, 4, 5, 6] {
            assert_eq!(rows[at].kept, None, "{at}");
        }
    }

    /// A rate that was ordered is held against one's own beside a third peer that is well.
    #[test]
    fn others_that_lose_more_than_a_tenth_beside_a_bad_peer_are_a_remark() {
        let mut rows = [
            row("go", "pub 2 KiB tcp, 3 peers", &[1_000, 1_000, 1_000]),
            row("go", "pub 2 KiB tcp, slow peer", &[890, 880, 950]),
            row("go", "pub 2 KiB tcp, dying peer", &[880, 910, 920]),
            row("c", "pub 2 KiB tcp, slow peer", &[5]),
        ];
        for row in &mut rows {
            row.workload = "sp".to_owned();
            row.rate_ordered = Some(1_000);
        }
        fill(&mut rows);
        doubt_neighbours(&mut rows);
        assert_eq!(rows[1].kept, Some(Spread { median: 0.89, min: 0.88, max: 0.95 }));
        assert_eq!(rows[1].verdict, Verdict::Flagged);
        assert_eq!(rows[1].reasons, ["beside that peer the others kept 0.89 of their rate"]);
        for at in [0, 2, 3] {
            assert_eq!((rows[at].verdict, rows[at].reasons.len()), (Verdict::Valid, 0), "{at}");
        }
        assert!(rows[2].kept.is_some() && rows[0].kept.is_none() && rows[3].kept.is_none());
        assert!(rows.iter().all(|row| row.ratio_to_best_peer.is_none()));
    }
}
