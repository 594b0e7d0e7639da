//! Children that live and die together: one has failed, so others are stopped, the last first, and
//! then all are started in their order.

use std::time::Duration;

use super::Supervisor;
use super::child::Boss;
use super::kid::{State, Why};
use super::message::News;
use crate::lifecycle::handle::fresh_number;
use crate::runtime::this::This;

/// Children that are being started again together.
pub(super) struct Group {
    /// The first of them.
    from: usize,
    stage: Stage,
    /// Before the first start; known by its number.
    pause: Duration,
    number: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Stopping,
    Pausing,
    Starting,
}

impl Group {
    /// The child at `at` is no more.
    pub(super) fn is_shorter(&mut self, at: usize) {
        if at < self.from {
            self.from -= 1;
        }
    }
}

impl Supervisor {
    /// A child has failed: all from `from` on are started again.
    pub(super) fn gather(&mut self, this: &This<Supervisor>, from: usize, pause: Duration) {
        // One that fails while its group is started joins another round of it.
        let from = self.group.as_ref().map_or(from, |group| group.from.min(from));
        self.group = Some(Group { from, stage: Stage::Stopping, pause, number: fresh_number() });
        self.go_on(this);
    }

    /// Takes the next step of the group, if there is one and it waits for nothing.
    pub(super) fn go_on(&mut self, this: &This<Supervisor>) {
        let Some(group) = &mut self.group else { return };
        let from = group.from.min(self.kids.len());
        if group.stage == Stage::Stopping {
            let last = self.kids[from..].iter().rposition(|kid| {
                matches!(kid.state, State::Starting { .. } | State::Running | State::Stopping(_))
            });
            if let Some(last) = last.map(|last| from + last) {
                if !matches!(self.kids[last].state, State::Stopping(_)) {
                    let boss = self.boss(this);
                    self.kids[last].stop(boss, Why::Group);
                }
                return;
            }
            if !group.pause.is_zero() {
                group.stage = Stage::Pausing;
                let (number, pause) = (group.number, group.pause);
                ring(self.boss(this), number, pause);
                return;
            }
            group.stage = Stage::Starting;
        }
        if group.stage == Stage::Pausing {
            return;
        }
        if self.kids[from..].iter().any(|kid| matches!(kid.state, State::Starting { .. })) {
            return;
        }
        let next = self.kids[from..].iter().position(|kid| matches!(kid.state, State::Waiting(_)));
        match next {
            Some(next) => self.start_again(this, from + next),
            None => self.group = None,
        }
    }

    /// True when a clock was the group's own.
    pub(super) fn group_is_due(
        &mut self,
        this: &This<Supervisor>,
        number: u64,
        epoch: u64,
    ) -> bool {
        let Some(group) = self.group.as_mut().filter(|group| group.number == number) else {
            return false;
        };
        if epoch == 0 && group.stage == Stage::Pausing {
            group.stage = Stage::Starting;
            self.go_on(this);
        }
        true
    }
}

fn ring(boss: Boss, number: u64, after: Duration) {
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        boss.tell(News::Due { number, epoch: 0 });
    });
}
