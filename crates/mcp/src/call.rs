//! Progress and cancellation of one tool call.

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Longest wait for the last progress notification before the answer is sent.
const LAST_PROGRESS_TIMEOUT: Duration = Duration::from_secs(1);

/// Control of one call. The default, used between calls, is never cancelled and reports nothing.
#[derive(Clone, Default)]
pub struct CallControl(Option<Arc<ActiveCall>>);

struct ActiveCall {
    request: RequestContext<RoleServer>,
    runtime: Handle,
    /// Available while no progress notification is being sent: a slow client gets fewer of them,
    /// and in order.
    sending: Arc<Semaphore>,
}

impl CallControl {
    /// Creates the control of a request; must run on the runtime that answers it.
    pub(crate) fn new(request: RequestContext<RoleServer>) -> Self {
        let sending = Arc::new(Semaphore::new(1));
        CallControl(Some(Arc::new(ActiveCall {
            request,
            runtime: Handle::current(),
            sending,
        })))
    }

    /// True if the client has cancelled the call.
    pub(crate) fn is_cancelled(&self) -> bool {
        let call = self.0.as_ref();
        call.is_some_and(|call| call.request.ct.is_cancelled())
    }

    /// Reports the seconds something has run to a client that asked for progress.
    pub(crate) fn report_progress(&self, elapsed: Duration, message: &str) {
        let Some(call) = &self.0 else { return };
        let (Some(token), Ok(permit)) = (
            call.request.meta.get_progress_token(),
            Arc::clone(&call.sending).try_acquire_owned(),
        ) else {
            return;
        };
        let progress = ProgressNotificationParam::new(token, elapsed.as_secs_f64());
        let progress = progress.with_message(format!("{} s  {message}", elapsed.as_secs()));
        let peer = call.request.peer.clone();
        call.runtime.spawn(async move {
            let _permit = permit;
            // A client that is gone is detected when the answer is sent.
            peer.notify_progress(progress).await.ok();
        });
    }

    /// Waits for progress that is being sent: none may come after the answer.
    pub(crate) async fn flush_progress(&self) {
        if let Some(call) = &self.0 {
            let sent = call.sending.acquire();
            tokio::time::timeout(LAST_PROGRESS_TIMEOUT, sent).await.ok();
        }
    }
}
