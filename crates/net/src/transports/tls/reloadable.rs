//! A configuration that is loaded again while it is in use.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::TlsError;

/// Settings from which a configuration is loaded.
pub(super) trait Settings {
    /// The loaded configuration.
    type Loaded;

    /// Loads it, with everything that it needs from files.
    fn load(&self) -> Result<Self::Loaded, TlsError>;
}

/// Settings, and what was loaded from them last. Clones share both, and two are equal if one is a
/// clone of the other.
pub(super) struct Reloadable<S: Settings>(Arc<Shared<S>>);

struct Shared<S: Settings> {
    settings: S,
    /// Held from the first read of a file until its outcome is in place: of two threads that load, the
    /// one that has read older files must not have the last word.
    loading: Mutex<()>,
    current: RwLock<Arc<S::Loaded>>,
}

impl<S: Settings> Reloadable<S> {
    pub(super) fn new(settings: S) -> Result<Reloadable<S>, TlsError> {
        let current = RwLock::new(Arc::new(settings.load()?));
        Ok(Reloadable(Arc::new(Shared { settings, loading: Mutex::default(), current })))
    }

    pub(super) fn settings(&self) -> &S {
        &self.0.settings
    }

    pub(super) fn current(&self) -> Arc<S::Loaded> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads again; on an error the current one stays.
    pub(super) fn reload(&self) -> Result<(), TlsError> {
        let _alone = self.0.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = Arc::new(self.0.settings.load()?);
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }
}

impl<S: Settings> Clone for Reloadable<S> {
    fn clone(&self) -> Reloadable<S> {
        Reloadable(Arc::clone(&self.0))
    }
}

impl<S: Settings> PartialEq for Reloadable<S> {
    fn eq(&self, other: &Reloadable<S>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<S: Settings> Eq for Reloadable<S> {}

impl<S: Settings + fmt::Debug> fmt::Debug for Reloadable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[derive(Debug)]
    struct Fixed;

    impl Settings for Fixed {
        type Loaded = ();

        fn load(&self) -> Result<(), TlsError> {
            Ok(())
        }
    }

    #[test]
    fn clones_are_equal_and_share_what_is_loaded_again() {
        let (first, other) = (Reloadable::new(Fixed).unwrap(), Reloadable::new(Fixed).unwrap());
        let clone = first.clone();
        assert_eq!(first, clone);
        assert_ne!(first, other);
        let before = first.current();
        clone.reload().unwrap();
        assert!(!Arc::ptr_eq(&first.current(), &before));
        assert!(Arc::ptr_eq(&first.current(), &clone.current()));
    }

    /// A file with a number, whose reader tells that it has read it.
    struct Numbered {
        file: Mutex<u64>,
        read: Sender<u64>,
        /// The reader of the number 1 waits for this, or for a reader beside it.
        beside: Mutex<Receiver<()>>,
        has_read_beside: Sender<()>,
    }

    impl Settings for Numbered {
        type Loaded = u64;

        fn load(&self) -> Result<u64, TlsError> {
            let number = *self.file.lock().unwrap();
            self.read.send(number).unwrap();
            if number == 1 {
                let beside = self.beside.lock().unwrap();
                // With no reader beside this one nothing comes.
                let _ = beside.recv_timeout(Duration::from_millis(200));
            }
            Ok(number)
        }
    }

    #[test]
    fn of_two_threads_that_load_again_the_newer_files_win() {
        let (read, reads) = mpsc::channel();
        let (has_read_beside, beside) = mpsc::channel();
        let beside = Mutex::new(beside);
        let file = Mutex::new(0);
        let shared = Reloadable::new(Numbered { file, read, beside, has_read_beside }).unwrap();
        assert_eq!(reads.recv().unwrap(), 0);
        *shared.settings().file.lock().unwrap() = 1;
        thread::scope(|scope| {
            let first = scope.spawn(|| shared.reload());
            assert_eq!(reads.recv().unwrap(), 1);
            *shared.settings().file.lock().unwrap() = 2;
            let second = scope.spawn(|| {
                shared.reload()?;
                shared.settings().has_read_beside.send(()).unwrap();
                Ok::<(), TlsError>(())
            });
            first.join().unwrap().unwrap();
            second.join().unwrap().unwrap();
        });
        assert_eq!(*shared.current(), 2);
    }
}
