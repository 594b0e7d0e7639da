//! A configuration that is loaded again while it is in use.

use std::sync::{Arc, PoisonError, RwLock};

use super::TlsError;

/// Settings from which a configuration is loaded.
pub(super) trait Settings {
    /// The loaded configuration.
    type Loaded;

    /// Loads it, with everything that it needs from files.
    fn load(&self) -> Result<Self::Loaded, TlsError>;
}

/// Settings, and what was loaded from them last.
pub(super) struct Reloadable<S: Settings> {
    settings: S,
    current: RwLock<Arc<S::Loaded>>,
}

impl<S: Settings> Reloadable<S> {
    pub(super) fn new(settings: S) -> Result<Reloadable<S>, TlsError> {
        let loaded = settings.load()?;
        Ok(Reloadable { settings, current: RwLock::new(Arc::new(loaded)) })
    }

    pub(super) fn settings(&self) -> &S {
        &self.settings
    }

    pub(super) fn current(&self) -> Arc<S::Loaded> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads again; on an error the current one stays.
    pub(super) fn reload(&self) -> Result<(), TlsError> {
        let loaded = Arc::new(self.settings.load()?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }
}
