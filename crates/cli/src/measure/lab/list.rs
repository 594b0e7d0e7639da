//! `wigwag lab list`: what there is, and what would have to be installed.

use wigwag_lab::contract::role::ROLES;
use wigwag_lab::participants::Participant;
use wigwag_lab::workload::WORKLOADS;

use crate::exit::{Code, Failed};
use crate::measure::lab::roster::Roster;
use crate::print;

pub(super) fn list(roster: &Roster) -> Result<Code, Failed> {
    print::line("Workloads:");
    for workload in WORKLOADS {
        print::line(&format!("  {:<10}{}", workload.name(), workload.about()));
    }
    let (bad, good): (Vec<_>, Vec<_>) =
        roster.participants.iter().partition(|participant| participant.is_known_bad());
    let letters = roster.participants.iter().map(|it| it.name().chars().count());
    let width = letters.max().unwrap_or(0) + 1;
    print::line("Participants:");
    good.into_iter().for_each(|it| tell(it, width));
    print::line("Known-bad participants, which must not come out valid:");
    bad.into_iter().for_each(|it| tell(it, width));
    Ok(Code::Ok)
}

fn tell(participant: &Participant, width: usize) {
    let roles: Vec<&str> = ROLES
        .into_iter()
        .filter(|role| participant.has_role(*role))
        .map(|role| role.name())
        .collect();
    let state = match participant {
        Participant::Embedded { .. } => "embedded".to_owned(),
        Participant::Peer(peer) => match participant.why_missing() {
            Some(missing) => format!("{}, not installed: {missing}", peer.language),
            None => format!("{}, installed", peer.language),
        },
    };
    print::line(&format!("  {:<width$}{state} [{}]", participant.name(), roles.join(" ")));
}
