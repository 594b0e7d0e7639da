//! The windows of the channels that this side sends on.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::window::Window;

/// The windows of open channels, by channel number.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    all: Vec<Option<Window>>,
    /// The numbers below the end of `all` that no channel has.
    free: BTreeSet<usize>,
}

impl Windows {
    /// Opens a window without credit under the lowest number that no channel has; `None` if that is
    /// not below `numbers`.
    pub(crate) fn open(&mut self, numbers: u64) -> Option<u64> {
        let number = self.free.first().copied().unwrap_or(self.all.len());
        if number as u64 >= numbers {
            return None;
        }
        if !self.free.remove(&number) {
            self.all.push(None);
        }
        self.all[number] = Some(Window::new(0));
        Some(number as u64)
    }

    /// Closes a window; its number is free again.
    pub(crate) fn close(&mut self, channel: u64) {
        let Ok(number) = usize::try_from(channel) else { return };
        if self.all.get_mut(number).and_then(Option::take).is_some() {
            self.free.insert(number);
        }
    }

    /// The window of a channel.
    #[inline]
    pub(crate) fn get(&mut self, channel: u64) -> Option<&mut Window> {
        self.all.get_mut(usize::try_from(channel).ok()?)?.as_mut()
    }

    /// The open channels with their windows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Window)> {
        (0..).zip(&self.all).filter_map(|(channel, window)| Some((channel, window.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_channel_gets_the_lowest_number_that_none_has() {
        let mut windows = Windows::default();
        let opened: Vec<_> = (0..4).filter_map(|_| windows.open(4)).collect();
        assert_eq!((opened, windows.open(4)), (alloc::vec![0, 1, 2, 3], None));
        for closed in [2, 0, 2, 7] {
            windows.close(closed);
        }
        assert!(windows.get(0).is_none() && windows.get(1).is_some());
        assert_eq!(windows.iter().map(|(channel, _)| channel).collect::<Vec<_>>(), [1, 3]);
        assert_eq!([windows.open(4), windows.open(4), windows.open(4)], [Some(0), Some(2), None]);
        assert_eq!(windows.open(5), Some(4));
    }
}
