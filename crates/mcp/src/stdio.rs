//! The tools over standard input and output.

use crate::handler::{CALLS_MAX, ToolHandler};
use crate::lines::{LINE_BYTES_MAX, forward_lines};
use crate::session::ToolSession;
use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// Longest wait for threads that are started in advance.
const THREAD_START_TIMEOUT: Duration = Duration::from_secs(1);

/// Size of the buffer between the client and the SDK.
const PIPE_BYTES: usize = 64 << 10;

/// Serves until the input ends.
pub fn serve_stdio(session: ToolSession) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        // The calls, and a few for the streams where they are not pipes.
        .max_blocking_threads(CALLS_MAX + 4)
        // Idle threads are kept: tokio panics where it has none and cannot start one.
        .thread_keep_alive(Duration::MAX)
        .enable_all()
        .build()?;
    start_blocking_threads(&runtime, 2);
    let served = runtime.block_on(async {
        let (input, output) = stdio_pipes();
        serve_streams(session, input, output).await
    });
    // Calls that are being carried out are finished; a read of the input is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(5));
    served
}

/// Starts this many of a runtime's blocking threads in advance, so that calls find one when no more
/// can be started.
pub fn start_blocking_threads(runtime: &tokio::runtime::Runtime, count: usize) {
    let all = Arc::new((Mutex::new(0), Condvar::new()));
    let wait = |all: Arc<(Mutex<usize>, Condvar)>| {
        move || {
            let mut here = all.0.lock().unwrap_or_else(PoisonError::into_inner);
            *here += 1;
            all.1.notify_all();
            // Fewer will do where not as many can be started.
            let _ = all
                .1
                .wait_timeout_while(here, THREAD_START_TIMEOUT, |here| *here < count);
        }
    };
    let started: Vec<_> = (0..count)
        .map(|_| runtime.spawn_blocking(wait(Arc::clone(&all))))
        .collect();
    for thread in started {
        let _ = runtime.block_on(thread);
    }
}

/// Serves one client until its input ends.
pub async fn serve_streams(
    session: ToolSession,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let (to, lines) = tokio::io::duplex(PIPE_BYTES);
    // The end of the input is the end of the lines.
    tokio::spawn(forward_lines(input, to));
    let transport = AsyncRwTransport::new_server(lines, output);
    let transport = transport.with_max_line_length(LINE_BYTES_MAX);
    match ToolHandler::new(session).serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // The client disconnected without a message: not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}
