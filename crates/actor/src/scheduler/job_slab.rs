//! The jobs of a scheduler, kept so that it can cancel them when its runtime shuts down.

use std::sync::Arc;

/// A slab of jobs; slots of jobs that have ended are reused.
pub(super) struct JobSlab<J: ?Sized> {
    slots: Vec<JobSlot<J>>,
    /// The slot that became free last.
    free: Option<u32>,
    /// Set when no more jobs are accepted.
    closed: bool,
}

enum JobSlot<J: ?Sized> {
    Occupied(Arc<J>),
    /// A free slot, with the one that became free before it.
    Free(Option<u32>),
}

impl<J: ?Sized> JobSlab<J> {
    pub(super) fn new() -> JobSlab<J> {
        JobSlab { slots: Vec::new(), free: None, closed: false }
    }

    /// The slot of the next job; `None` when the scheduler is closed.
    pub(super) fn next(&self) -> Option<u32> {
        if self.closed {
            return None;
        }
        self.free.or_else(|| u32::try_from(self.slots.len()).ok())
    }

    /// Adds a job in the [next](JobSlab::next) slot.
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

    /// Removes a job that has ended; the caller drops it outside of the lock.
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

    /// Takes all jobs out, and accepts no more.
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
