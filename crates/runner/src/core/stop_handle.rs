//! Handle by which others stop a run.

use std::sync::Arc;

/// Stops a run from another thread.
#[derive(Clone)]
pub struct StopHandle(Arc<dyn Fn(bool) + Send + Sync>);

impl StopHandle {
    /// Creates a handle; `ask` receives true if agents are to be ended too.
    pub(crate) fn new(ask: impl Fn(bool) + Send + Sync + 'static) -> StopHandle {
        StopHandle(Arc::new(ask))
    }

    /// Lets the run leave: it starts nothing new, and its agents go on.
    pub fn leave(&self) {
        (self.0)(false);
    }

    /// Lets the run leave and ends its agents too.
    pub fn stop(&self) {
        (self.0)(true);
    }
}
