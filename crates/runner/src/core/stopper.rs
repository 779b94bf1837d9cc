//! How others end a run.

use std::sync::Arc;

/// Asks a run to leave, from another thread.
#[derive(Clone)]
pub struct Stopper(Arc<dyn Fn(bool) + Send + Sync>);

impl Stopper {
    /// `ask` hears whether agents are ended too.
    pub(crate) fn new(ask: impl Fn(bool) + Send + Sync + 'static) -> Stopper {
        Stopper(Arc::new(ask))
    }

    /// Nothing new is started; agents go on, and the run leaves.
    pub fn leave(&self) {
        (self.0)(false);
    }

    /// Agents are ended too.
    pub fn stop(&self) {
        (self.0)(true);
    }
}
