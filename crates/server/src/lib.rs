//! The task server: REST, server-sent events and the web page, over TCP on loopback and a Unix
//! socket.
//!
//! Contains no rules of its own. A request is parsed and its caller identified; the request is then
//! passed to the dispatcher that decides about jobs, or to an operation of the engine, and the
//! result is rendered in the caller's language. Handlers are plain functions on a bounded thread
//! pool: nothing that waits for a disk runs on the threads that serve connections.

mod agent_reports;
mod allowed_verbs;
mod auth;
pub mod client;
mod conversation;
mod data_folder;
mod decisions;
mod diff;
mod error;
mod event_stream;
mod files;
mod fleet;
mod guard;
mod http_request;
mod idempotency;
pub mod job_service;
pub mod jobs;
mod mcp;
mod notices;
mod permissions;
mod retention;
mod router;
mod runs;
mod scope;
mod serve;
mod session;
pub mod store_files;
mod tasks;
mod verb_results;
mod verbs;
mod view;
mod web_page;
mod workspace_init;
mod workspaces;

pub use data_folder::{
    ADDRESS_FILE, DataFolder, SOCKET_FILE, SecretError, TOKEN_FILE, find_data_folder, read_secret,
    serve_error_code,
};
pub use serve::{
    DEFAULT_LISTEN_ADDRESS, EventPublisher, Server, ServerOptions, ServerStopHandle, log_to_stderr,
    with_socket_path,
};
