//! The jobs of a crew, so that it can end them with its runtime.

use std::sync::Arc;

/// A table of jobs; places of those that have ended are used again.
pub(super) struct Members<J: ?Sized> {
    places: Vec<Place<J>>,
    /// The place that became free last.
    free: Option<u32>,
    /// No job is taken in any more.
    closed: bool,
}

enum Place<J: ?Sized> {
    Taken(Arc<J>),
    /// And the one that became free before.
    Free(Option<u32>),
}

impl<J: ?Sized> Members<J> {
    pub(super) fn new() -> Members<J> {
        Members { places: Vec::new(), free: None, closed: false }
    }

    /// The place of the next job; `None` when the crew has ended.
    pub(super) fn next(&self) -> Option<u32> {
        if self.closed {
            return None;
        }
        self.free.or_else(|| u32::try_from(self.places.len()).ok())
    }

    /// Takes a job in, at the [next](Members::next) place.
    pub(super) fn add(&mut self, job: Arc<J>) {
        let free = self.free.and_then(|at| self.places.get_mut(at as usize));
        match free {
            Some(place) => {
                if let Place::Free(before) = std::mem::replace(place, Place::Taken(job)) {
                    self.free = before;
                }
            }
            None => self.places.push(Place::Taken(job)),
        }
    }

    /// A job has ended; it is given back to be dropped outside of the lock.
    pub(super) fn remove(&mut self, at: u32) -> Option<Arc<J>> {
        let place = self.places.get_mut(at as usize)?;
        match std::mem::replace(place, Place::Free(self.free)) {
            Place::Taken(job) => {
                self.free = Some(at);
                Some(job)
            }
            before @ Place::Free(_) => {
                *place = before;
                None
            }
        }
    }

    /// Takes all jobs out; no others come in.
    pub(super) fn close(&mut self) -> Vec<Arc<J>> {
        self.closed = true;
        self.free = None;
        let taken = |place| match place {
            Place::Taken(job) => Some(job),
            Place::Free(_) => None,
        };
        std::mem::take(&mut self.places).into_iter().filter_map(taken).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(members: &mut Members<u32>) -> Option<u32> {
        let at = members.next()?;
        members.add(Arc::new(at));
        Some(at)
    }

    #[test]
    fn a_place_that_became_free_is_used_again() {
        let mut members = Members::new();
        assert_eq!([0; 3].map(|_| add(&mut members)), [Some(0), Some(1), Some(2)]);
        assert!(members.remove(1).is_some() && members.remove(1).is_none());
        assert!(members.remove(0).is_some() && members.remove(9).is_none());
        assert_eq!([0; 3].map(|_| add(&mut members)), [Some(0), Some(1), Some(3)]);
        assert_eq!(members.close().len(), 4);
        assert_eq!(add(&mut members), None);
    }
}
