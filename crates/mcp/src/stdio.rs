//! The tools over standard input and output.

use crate::desk::Desk;
use crate::handler::{CALLS_MAX, Tools};
use crate::lines::{LINE_BYTES_MAX, hand_on};
use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// What is on its way from the client to the SDK.
const ON_THE_WAY_BYTES: usize = 64 << 10;

/// Serves until the input ends.
pub fn serve(desk: Desk) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        // The calls, and a few for the streams where they are no pipes.
        .max_blocking_threads(CALLS_MAX + 4)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let (input, output) = stdio_pipes();
        serve_on(desk, input, output).await
    });
    // What is being carried out is finished; a read of the input is not waited for.
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    served
}

/// Serves one client until it says no more.
pub async fn serve_on(
    desk: Desk,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let (to, lines) = tokio::io::duplex(ON_THE_WAY_BYTES);
    // The end of the input is the end of the lines.
    tokio::spawn(hand_on(input, to));
    let transport = AsyncRwTransport::new_server(lines, output);
    let transport = transport.with_max_line_length(LINE_BYTES_MAX);
    match Tools::new(desk).serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // Nobody said anything: that is no fault of ours.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}
