//! Progress and cancellation of one call of a tool.

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// How long the last progress is waited for before the answer is sent.
const LAST_PROGRESS_WAIT: Duration = Duration::from_secs(1);

/// The control of one call; that of a connection, between calls, is cancelled by nobody and tells nothing.
#[derive(Clone, Default)]
pub struct CallControl(Option<Arc<Call>>);

struct Call {
    request: RequestContext<RoleServer>,
    runtime: Handle,
    /// Free while no progress is on its way: a client that does not read gets less of it, and in order.
    sending: Arc<Semaphore>,
}

impl CallControl {
    /// The control of a request; made on the runtime that answers it.
    pub(crate) fn new(request: RequestContext<RoleServer>) -> Self {
        let sending = Arc::new(Semaphore::new(1));
        CallControl(Some(Arc::new(Call {
            request,
            runtime: Handle::current(),
            sending,
        })))
    }

    /// Whether the client has taken the call back.
    pub(crate) fn is_cancelled(&self) -> bool {
        let call = self.0.as_ref();
        call.is_some_and(|call| call.request.ct.is_cancelled())
    }

    /// Tells a client that asked for it how many seconds something has run.
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
            // A client that is gone is found out by the answer.
            peer.notify_progress(progress).await.ok();
        });
    }

    /// Waits for progress that is on its way: none may come after the answer.
    pub(crate) async fn finish(&self) {
        if let Some(call) = &self.0 {
            let sent = call.sending.acquire();
            tokio::time::timeout(LAST_PROGRESS_WAIT, sent).await.ok();
        }
    }
}
