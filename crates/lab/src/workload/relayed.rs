//! Cells of remote through the lab's relay: with a delay each way, and with cuts.
//!
//! A delay is held against the same participant through the same relay without one, because the
//! relay itself takes time and processors. Asks have as many in flight as a round trip of 20 ms
//! wants; for tells that is the participant's own matter, and the question.

use std::time::Duration;

use crate::contract::role::Role;
use crate::participants::Participant;
use crate::relay::RelayPlan;
use crate::trial::Outcome;
use crate::trial::relay_program::RelaySpec;
use crate::workload::remote::far;
use crate::workload::{Cell, Entry, Judgement, Order};

/// Each way; 0 is what the others are held against.
const DELAYS_MS: [u32; 3] = [0, 1, 10];
/// Cuts of a run.
pub(crate) const CUTS: usize = 10;
/// As the tables name the cell with cuts.
pub(crate) const CUTS_NAME: &str = "tell, ten cuts";
/// Its windows are so many times longer than others: between two cuts lie 100 ms at the least.
const LONGER: u32 = 2;
/// And in a quick run, where others are a quarter of a second.
const LONGER_QUICK: u32 = 6;
/// A quick run's window would be spent on the first few round trips of such a delay.
const FAR_MS: u32 = 10;
/// So it is so many times longer.
const FAR_LONGER_QUICK: u32 = 3;

/// Tells and asks at each delay, then the cuts.
pub(super) fn cells() -> impl Iterator<Item = Cell> {
    let with = |asks| DELAYS_MS.map(|delay_ms| Cell::Relayed { asks, delay_ms });
    with(false).into_iter().chain(with(true)).chain([Cell::Cuts])
}

/// As the tables name a cell with a delay.
pub(super) fn name(asks: bool, delay_ms: u32) -> String {
    let what = if asks { "ask" } else { "tell" };
    match delay_ms {
        0 => format!("{what}, relayed"),
        delay => format!("{what}, {delay} ms"),
    }
}

/// The cell that the one named `cell` is held against, if it is one with a delay.
pub(crate) fn reference(cell: &str) -> Option<String> {
    let delayed = cells().find_map(|it| match it {
        Cell::Relayed { asks, delay_ms: 1.. } => Some(asks).filter(|_| it.is_named(cell)),
        _ => None,
    });
    delayed.map(|asks| name(asks, 0)).or_else(|| far::reference(cell))
}

impl Cell {
    /// True if the lab's relay stands between the two programs.
    pub(crate) fn has_relay(self) -> bool {
        matches!(self, Cell::Relayed { .. } | Cell::Far(_) | Cell::Cuts)
    }

    fn is_named(self, cell: &str) -> bool {
        matches!(self, Cell::Relayed { asks, delay_ms } if name(asks, delay_ms) == cell)
    }

    /// How many times the usual window its own is.
    pub(crate) fn window_factor(self, quick: bool) -> u32 {
        match self {
            Cell::Cuts => {
                if quick {
                    LONGER_QUICK
                } else {
                    LONGER
                }
            }
            Cell::Relayed { delay_ms: FAR_MS.., .. } | Cell::Far(_) if quick => FAR_LONGER_QUICK,
            Cell::Sp(cell) => cell.window_factor(quick),
            _ => 1,
        }
    }
}

/// Why a participant of remote has no such cell; nobody would look for a bad one here.
pub(super) fn why_absent(cell: Cell, participant: &Participant) -> Option<String> {
    let looked_for = participant.has_role(Role::RemoteClient) && !participant.is_known_bad();
    let why = if !participant.is_relayed() {
        "each of its sides dials the other, so a relay cannot stand between them"
    } else if cell == Cell::Cuts && !participant.resumes() {
        "its sessions end with their connection"
    } else {
        return None;
    };
    looked_for.then(|| why.to_owned())
}

/// The relay between the programs, if there is one.
pub(super) fn between(entry: &Entry<'_>, order: Order) -> Option<RelaySpec> {
    let plan = match entry.cell {
        Cell::Relayed { delay_ms, .. } => {
            RelayPlan { delay: Duration::from_millis(delay_ms.into()), ..RelayPlan::default() }
        }
        Cell::Far(_) => RelayPlan { delay: far::DELAY, ..RelayPlan::default() },
        Cell::Cuts => RelayPlan { cut_bytes: order.cut_bytes, cuts: CUTS, ..RelayPlan::default() },
        _ => return None,
    };
    Some(RelaySpec::new(entry.program, plan))
}

/// Bytes between two cuts, so that they are spread over a run of `messages`, when an uncut one was
/// `outcome` for `of` messages. Nothing is cut in a run that was never seen.
pub(crate) fn cut_bytes(messages: u64, outcome: &Outcome, of: u64) -> u64 {
    let Some(relayed) = &outcome.relay else { return 0 };
    let all = relayed.bytes as f64 * messages as f64 / of.max(1) as f64;
    (all / (CUTS + 1) as f64) as u64
}

/// Judges the relay's account.
pub(super) fn judge(judged: &mut Judgement, entry: &Entry<'_>, order: Order, outcome: &Outcome) {
    let Some(relayed) = &outcome.relay else { return };
    if relayed.refused > 0 {
        let refused = relayed.refused;
        judged.flags.push(format!("the relay had no room for {refused} of its connections"));
    }
    let took_place = relayed.cuts.len();
    if entry.cell == Cell::Cuts && order.cut_bytes > 0 && took_place < CUTS {
        judged.flags.push(format!("only {took_place} of {CUTS} cuts took place"));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::participants::peer::Peer;

    #[test]
    fn a_delay_is_held_against_the_same_without_one_and_nothing_else_is() {
        let named = |cell: &str| reference(cell);
        assert_eq!(named("tell, 1 ms").as_deref(), Some("tell, relayed"));
        assert_eq!(named("ask, 10 ms").as_deref(), Some("ask, relayed"));
        assert_eq!(named("chain, 10 ms").as_deref(), Some("rtt, 10 ms"));
        assert_eq!(named("join 80, 10 ms").as_deref(), Some("rtt, 10 ms"));
        for cell in
            ["tell", "rtt, 10 ms", "tell, relayed", "ask, relayed", CUTS_NAME, "tell, 16 senders"]
        {
            assert_eq!(named(cell), None, "{cell}");
        }
    }
    #[test]
    fn a_participant_whose_sides_dial_each_other_has_no_relay_and_its_rows_say_why() {
        let folder = std::env::temp_dir().join(format!("wigwag-relayed-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let peer = |more: &str| {
            let head = "name = \"x\"\nlanguage = \"C\"\nlicense = \"MIT\"\n";
            let roles = "[role]\n\"remote.server\" = [\"a\"]\n\"remote.client\" = [\"a\"]\n";
            fs::write(folder.join("peer.toml"), format!("{head}{more}{roles}")).unwrap();
            Participant::Peer(Box::new(Peer::read(&folder).unwrap()))
        };
        let (mutual, usual) = (peer("resumes = true\nrelayed = false\n"), peer("resumes = true\n"));
        for cell in cells() {
            assert!(cell.is_for(&usual) && cell.why_absent(&usual).is_none());
            assert!(!cell.is_for(&mutual));
            assert!(cell.why_absent(&mutual).unwrap().contains("dials the other"));
        }
        assert!(Cell::Tell.is_for(&mutual) && Cell::Tell.why_absent(&mutual).is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
