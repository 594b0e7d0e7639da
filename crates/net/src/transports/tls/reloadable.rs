//! A configuration that is loaded again while it is in use.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

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
    current: RwLock<Arc<S::Loaded>>,
}

impl<S: Settings> Reloadable<S> {
    pub(super) fn new(settings: S) -> Result<Reloadable<S>, TlsError> {
        let current = RwLock::new(Arc::new(settings.load()?));
        Ok(Reloadable(Arc::new(Shared { settings, current })))
    }

    pub(super) fn settings(&self) -> &S {
        &self.0.settings
    }

    pub(super) fn current(&self) -> Arc<S::Loaded> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads again; on an error the current one stays.
    pub(super) fn reload(&self) -> Result<(), TlsError> {
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
}
