//! The tools over standard input and output.

use crate::desk::Desk;
use crate::handler::{CALLS_MAX, Tools};
use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use std::io;

/// The length of a message. One that is longer is passed over.
const LINE_BYTES_MAX: usize = 4 << 20;

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
        let transport = AsyncRwTransport::new_server(input, output);
        let transport = transport.with_max_line_length(LINE_BYTES_MAX);
        match Tools::new(desk).serve(transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // Nobody said anything: that is no fault of ours.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    });
    // What is being carried out is finished; a read of the input is not waited for.
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    served
}
