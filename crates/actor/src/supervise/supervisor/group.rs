//! Groups of children that restart together: when one fails, the group is stopped, the last child
//! first, and then started in order.

use std::time::Duration;

use super::Supervisor;
use super::child::SupervisorLink;
use super::entry::{EntryState, StopCause};
use super::message::ChildEvent;
use crate::lifecycle::handle::fresh_number;
use crate::runtime::this::This;

/// Children that are being restarted together.
pub(super) struct Group {
    /// The index of the first of them.
    from: usize,
    phase: GroupPhase,
    /// The pause before the first start; its timer is identified by `number`.
    pause: Duration,
    number: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupPhase {
    Stopping,
    Pausing,
    Starting,
}

impl Group {
    /// The child at `at` was removed.
    pub(super) fn is_shorter(&mut self, at: usize) {
        if at < self.from {
            self.from -= 1;
        }
    }
}

impl Supervisor {
    /// A child has failed: restarts all children from index `from` on.
    pub(super) fn gather(&mut self, this: &This<Supervisor>, from: usize, pause: Duration) {
        // A failure while the group is being started begins another round.
        let from = self.group.as_ref().map_or(from, |group| group.from.min(from));
        self.group =
            Some(Group { from, phase: GroupPhase::Stopping, pause, number: fresh_number() });
        self.go_on(this);
    }

    /// Takes the next step of the group, if there is a group and it waits for nothing.
    pub(super) fn go_on(&mut self, this: &This<Supervisor>) {
        let Some(group) = &mut self.group else { return };
        let from = group.from.min(self.children.len());
        if group.phase == GroupPhase::Stopping {
            let last = self.children[from..].iter().rposition(|entry| {
                matches!(
                    entry.state,
                    EntryState::Starting { .. } | EntryState::Running | EntryState::Stopping(_)
                )
            });
            if let Some(last) = last.map(|last| from + last) {
                if !matches!(self.children[last].state, EntryState::Stopping(_)) {
                    let supervisor = self.supervisor(this);
                    self.children[last].stop(supervisor, StopCause::Group);
                }
                return;
            }
            if !group.pause.is_zero() {
                group.phase = GroupPhase::Pausing;
                let (number, pause) = (group.number, group.pause);
                wake_later(self.supervisor(this), number, pause);
                return;
            }
            group.phase = GroupPhase::Starting;
        }
        if group.phase == GroupPhase::Pausing {
            return;
        }
        if self.children[from..]
            .iter()
            .any(|entry| matches!(entry.state, EntryState::Starting { .. }))
        {
            return;
        }
        let next = self.children[from..]
            .iter()
            .position(|entry| matches!(entry.state, EntryState::Waiting(_)));
        match next {
            Some(next) => self.start_again(this, from + next),
            None => self.group = None,
        }
    }

    /// True when the timer was the group's own.
    pub(super) fn group_is_due(
        &mut self,
        this: &This<Supervisor>,
        number: u64,
        epoch: u64,
    ) -> bool {
        let Some(group) = self.group.as_mut().filter(|group| group.number == number) else {
            return false;
        };
        if epoch == 0 && group.phase == GroupPhase::Pausing {
            group.phase = GroupPhase::Starting;
            self.go_on(this);
        }
        true
    }
}

fn wake_later(supervisor: SupervisorLink, number: u64, after: Duration) {
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        supervisor.tell(ChildEvent::Due { number, epoch: 0 });
    });
}
