//! The jobs of a crew, so that it can end them with its runtime.

use std::sync::Arc;

/// A table of jobs; places of those that have ended are used again.
pub(super) struct JobSlab<J: ?Sized> {
    slots: Vec<JobSlot<J>>,
    /// The place that became free last.
    free: Option<u32>,
    /// No job is taken in any more.
    closed: bool,
}

enum JobSlot<J: ?Sized> {
    Occupied(Arc<J>),
    /// And the one that became free before.
    Free(Option<u32>),
}

impl<J: ?Sized> JobSlab<J> {
    pub(super) fn new() -> JobSlab<J> {
        JobSlab { slots: Vec::new(), free: None, closed: false }
    }

    /// The place of the next job; `None` when the crew has ended.
    pub(super) fn next(&self) -> Option<u32> {
        if self.closed {
            return None;
        }
        self.free.or_else(|| u32::try_from(self.slots.len()).ok())
    }

    /// Takes a job in, at the [next](JobSlab::next) place.
    pub(super) fn add(&mut self, job: Arc<J>) {
        let free = self.free.and_then(|at| self.slots.get_mut(at as usize));
        match free {
            Some(slot) => {
                if let JobSlot::Free(before) = std::mem::replace(slot, JobSlot::Occupied(job)) {
                    self.free = before;
                }
            }
            None => self.slots.push(JobSlot::Occupied(job)),
        }
    }

    /// A job has ended; it is given back to be dropped outside of the lock.
    pub(super) fn remove(&mut self, at: u32) -> Option<Arc<J>> {
        let slot = self.slots.get_mut(at as usize)?;
        match std::mem::replace(slot, JobSlot::Free(self.free)) {
            JobSlot::Occupied(job) => {
                self.free = Some(at);
                Some(job)
            }
            before @ JobSlot::Free(_) => {
                *slot = before;
                None
            }
        }
    }

    /// Takes all jobs out; no others come in.
    pub(super) fn close(&mut self) -> Vec<Arc<J>> {
        self.closed = true;
        self.free = None;
        let taken = |slot| match slot {
            JobSlot::Occupied(job) => Some(job),
            JobSlot::Free(_) => None,
        };
        std::mem::take(&mut self.slots).into_iter().filter_map(taken).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(job_slab: &mut JobSlab<u32>) -> Option<u32> {
        let at = job_slab.next()?;
        job_slab.add(Arc::new(at));
        Some(at)
    }

    #[test]
    fn a_place_that_became_free_is_used_again() {
        let mut job_slab = JobSlab::new();
        assert_eq!([0; 3].map(|_| add(&mut job_slab)), [Some(0), Some(1), Some(2)]);
        assert!(job_slab.remove(1).is_some() && job_slab.remove(1).is_none());
        assert!(job_slab.remove(0).is_some() && job_slab.remove(9).is_none());
        assert_eq!([0; 3].map(|_| add(&mut job_slab)), [Some(0), Some(1), Some(3)]);
        assert_eq!(job_slab.close().len(), 4);
        assert_eq!(add(&mut job_slab), None);
    }
}
