//! The task server: REST, server-sent events and the web page, over TCP on loopback and a Unix
//! socket.
//!
//! Contains no rules of its own. A request is parsed and its caller identified; the request is then
//! passed to the dispatcher that decides about jobs, or to an operation of the engine, and the
//! result is rendered in the caller's language. Handlers are plain functions on a bounded thread
//! pool: nothing that waits for a disk runs on the threads that serve connections.

mod asks;
mod auth;
mod begin;
mod call;
pub mod client;
mod data;
mod diff;
mod feed;
mod files;
mod guard;
mod idempotency;
pub mod jobs;
pub mod keep;
mod mcp;
mod notices;
mod offers;
mod page;
mod permits;
mod problem;
mod reports;
mod retention;
mod router;
mod runs;
mod scope;
mod serve;
mod session;
mod talk;
mod tasks;
mod verbs;
mod view;
pub mod work;
mod workspaces;
mod world;

pub use data::{
    ADDRESS_FILE, DataFolder, SOCKET_FILE, SecretError, TOKEN_FILE, code_of, data_folder,
    read_secret,
};
pub use serve::{LISTEN, Options, Publisher, Server, Stopper, log_to_stderr, reach};
