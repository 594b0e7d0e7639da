//! A limit for all clients together, of which one source may use half.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use wigwag_net::source::Source;

use crate::lock::lock;

/// Counts what is in use, in all and of each source.
#[derive(Debug)]
pub(crate) struct Shares {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    used: usize,
    sources: HashMap<Source, usize>,
}

/// One use; dropping it ends the use.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Arc<Shares>,
    source: Source,
}

impl Shares {
    pub(crate) fn new(most: usize) -> Arc<Shares> {
        Arc::new(Shares { most, table: Mutex::default() })
    }

    /// Takes a share for `source`. `None` if all are in use, or half of them by this source.
    pub(crate) fn take(self: &Arc<Shares>, source: &Source) -> Option<Share> {
        let mut table = lock(&self.table);
        let of_source = table.sources.get(source).copied().unwrap_or(0);
        if table.used >= self.most || of_source >= self.most / 2 {
            return None;
        }
        table.used += 1;
        table.sources.insert(source.clone(), of_source + 1);
        Some(Share { shares: self.clone(), source: source.clone() })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut table = lock(&self.shares.table);
        table.used -= 1;
        if let Some(count) = table.sources.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                table.sources.remove(&self.source);
            }
        }
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_source_gets_half_and_all_of_them_no_more_than_all() {
        let shares = Shares::new(4);
        let host = |number| Source::Host([192, 0, 2, number].into());
        let taken = |number| shares.take(&host(number));
        let mut first: Vec<_> = (0..3).map(|_| taken(1)).collect();
        assert_eq!(first.iter().flatten().count(), 2);
        let others = [taken(2), taken(3), taken(4)];
        assert_eq!(others.iter().flatten().count(), 2);
        first.clear();
        assert!(taken(4).is_some());
        drop(others);
        let table = lock(&shares.table);
        assert_eq!((table.used, table.sources.len()), (0, 0));
    }
}
