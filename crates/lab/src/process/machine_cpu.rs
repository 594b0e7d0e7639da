//! The processor time of the whole machine, and the share of it that other programs take.

use std::fs;

use crate::process::proc_files::TICKS;

/// The processor time of the whole machine.
#[derive(Clone, Copy, Debug)]
pub struct MachineCpu {
    busy: f64,
    all: f64,
}

impl MachineCpu {
    /// The reading of now; nothing where `/proc/stat` cannot be read.
    pub fn now() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// user, nice, system, idle, iowait, irq, softirq, steal; what guests took is within user.
    fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let words = line.split_whitespace().skip(1).take(8);
        let times: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let idle: f64 = times.iter().skip(3).take(2).sum();
        let all: f64 = times.iter().sum();
        Self { busy: (all - idle) / TICKS, all: all / TICKS }
    }

    /// The share of what there was that others took since `self`, steal included, when our own
    /// processes took `own` seconds. The kernel counts the machine in ticks, so a window of 250 ms
    /// on two processors is good to about four per cent, one of 1.5 s to less than one.
    pub fn foreign_share(&self, now: &MachineCpu, own: f64) -> f64 {
        let all = now.all - self.all;
        if all <= 0.0 {
            return 0.0;
        }
        ((now.busy - self.busy - own) / all).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_foreign_and_our_own_time_is_not() {
        let before = MachineCpu::parse("cpu 100 0 0 100 0 0 0 0 0 0\n");
        let after = MachineCpu::parse("cpu 150 0 0 130 0 0 0 20 0 0\n");
        assert!((before.foreign_share(&after, 0.5) - 0.2).abs() < 1e-9);
        assert_eq!(before.foreign_share(&after, 5.0), 0.0);
    }
}
