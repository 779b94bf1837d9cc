//! The server process: it listens, starts the dispatcher, serves requests and stops on a signal.

use crate::auth::{Authenticator, ConnectionPeer};
use crate::data_folder::{self, DataFolder, SOCKET_FILE};
use crate::error::ApiError;
use crate::event_stream::EventBroadcaster;
use crate::fleet::ServerMetrics;
use crate::guard::{AllowedHosts, RateLimits};
use crate::idempotency::KeysInUse;
use crate::job_service::{DispatcherHealth, JobService};
use crate::runs::ActiveRuns;
use crate::workspaces::WorkspaceRegistry;
use crate::{jobs, retention, router, session};
use axum::Router;
use axum::body::Body;
use bowline_engine::Context;
use bowline_engine::actor::{self, DetectedActor, MissingPersonProof, ProcessAncestry};
use bowline_engine::clock::Clock;
use bowline_engine::formats::time::format_utc;
use bowline_engine::machines::{Actor, Timestamp};
use bowline_engine::process;
use bowline_engine::words::{display_path, system_cause};
use bowline_formats::rest::EventName;
use bowline_store::EventRow;
use bowline_words::Lang;
use bowline_words::message::{ServeTrouble, ServerNo};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};

/// Default address to listen on.
pub const DEFAULT_LISTEN_ADDRESS: &str = "127.0.0.1:7420";

/// Number of attempts to take the lock of a data folder, and the time between them.
const LOCK_TRIES: u32 = 500;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Limits for simultaneous connections, and for event streams among them.
const CONNECTIONS_MAX: usize = 4_096;
const STREAMS_MAX: usize = 1_024;
/// File descriptors that connections may not use: for the store, agents and files.
const RESERVED_DESCRIPTORS: usize = 512;
/// Limit for ZIP files created at the same time.
const ZIPS_MAX: usize = 4;
/// Limit for simultaneous verbs that run commands of a project. They take as long as its tests do,
/// and each occupies a blocking thread.
const CHECKS_MAX: usize = 4;
/// Time limit for receiving the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Size limit for the head of a request.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Number of blocking threads that handle requests: the maximum, and those started at first. Later
/// ones are kept.
const BLOCKING_THREADS_MAX: usize = 64;
const BLOCKING_THREADS_MIN: usize = 32;
/// Time limit for requests in progress when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest path that fits into a socket address; longer ones are reached through their folder.
const SOCKET_PATH_MAX: usize = 100;

/// Options that a server is started with.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// The data folder.
    pub data: PathBuf,
    /// Further host names of the server.
    pub hosts: Vec<String>,
    /// Folders whose state files the server shows.
    pub workspaces: Vec<PathBuf>,
    /// Address for browsers, if it differs from the address to listen on.
    pub public_url: Option<String>,
}

/// A server that listens but does not serve yet.
pub struct Server {
    runtime: Runtime,
    tcp: TcpListener,
    unix: UnixListener,
    shared: Arc<SharedState>,
    data: DataFolder,
    /// Held until the server stops: one server per data folder.
    lock: File,
}

/// State of the server process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerStatus {
    Starting,
    Ready,
    Draining,
}

/// State shared by all requests.
pub(crate) struct SharedState {
    pub(crate) auth: Authenticator,
    pub(crate) allowed_hosts: AllowedHosts,
    pub(crate) rate_limits: RateLimits,
    pub(crate) keys_in_use: KeysInUse,
    pub(crate) events: EventBroadcaster,
    pub(crate) metrics: ServerMetrics,
    pub(crate) workspaces: WorkspaceRegistry,
    pub(crate) context: Context,
    pub(crate) clock: Clock,
    pub(crate) url: String,
    /// Address for browsers.
    pub(crate) public_url: String,
    pub(crate) instance: String,
    pub(crate) started_at: Timestamp,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) streams_max: usize,
    pub(crate) zips: Arc<Semaphore>,
    pub(crate) checks: Arc<Semaphore>,
    pub(crate) runs: ActiveRuns,
    pub(crate) stopping: watch::Sender<bool>,
    stop_requested: watch::Sender<bool>,
    connections: Arc<Semaphore>,
    connections_max: usize,
    status: AtomicU8,
    job_service: OnceLock<Arc<dyn JobService>>,
}

impl SharedState {
    /// Returns the job service, or an error while the server starts or stops.
    pub(crate) fn job_service(&self) -> Result<&dyn JobService, ApiError> {
        match (self.job_service.get(), self.status()) {
            (_, ServerStatus::Draining) => Err(ServerNo::Draining.into()),
            (Some(work), ServerStatus::Ready) => Ok(&**work),
            (_, ServerStatus::Starting | ServerStatus::Ready) => Err(ServerNo::Starting.into()),
        }
    }

    pub(crate) fn status(&self) -> ServerStatus {
        match self.status.load(Ordering::Acquire) {
            0 => ServerStatus::Starting,
            1 => ServerStatus::Ready,
            _ => ServerStatus::Draining,
        }
    }

    fn set_status(&self, state: ServerStatus) {
        let number = match state {
            ServerStatus::Starting => 0,
            ServerStatus::Ready => 1,
            ServerStatus::Draining => 2,
        };
        self.status.store(number, Ordering::Release);
    }
}

/// Stops a server as a signal would.
#[derive(Clone)]
pub struct ServerStopHandle(Arc<SharedState>);

impl ServerStopHandle {
    /// Requests the stop; further calls have no effect.
    pub fn stop(&self) {
        self.0.stop_requested.send_replace(true);
    }
}

/// Publishes events to all listeners. Cheap to clone.
#[derive(Clone)]
pub struct EventPublisher(Arc<SharedState>);

impl EventPublisher {
    /// Publishes a durable event. Must be called in the order of the events' numbers.
    pub fn publish_event(&self, row: &EventRow) {
        self.0.events.publish(row);
    }

    /// Logs the health of the dispatcher, and stops the server when the dispatcher has failed for
    /// good.
    pub fn report_health(&self, health: &DispatcherHealth) {
        match health {
            DispatcherHealth::Ready => tracing::info!("tasks can be changed"),
            DispatcherHealth::Recovering(outage) => {
                tracing::error!(reason = outage.reason, "tasks cannot be changed");
            }
            DispatcherHealth::Failed(outage) => {
                tracing::error!(reason = outage.reason, "the dispatcher failed for good");
                self.0.stop_requested.send_replace(true);
            }
        }
    }

    /// Publishes that an agent printed `length` bytes, at an offset of its task's output.
    pub fn publish_output(&self, task: &str, offset: u64, length: u64) {
        let at = format_utc(self.0.clock.now());
        let data = serde_json::json!({ "offset": offset, "length": length });
        self.0
            .events
            .publish_transient(task, EventName::Log, at, data);
    }
}

impl Server {
    /// Starts to listen. Requests that arrive before [`Server::run`] wait.
    pub fn bind(options: &ServerOptions) -> Result<Server, ServeTrouble> {
        let data = DataFolder::open(&options.data)?;
        let lock = lock_data_folder(&data)?;
        let token = data.read_or_create_token()?;
        let places = raise_descriptor_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            // Threads are kept: tokio panics if it has none and cannot start one.
            .thread_keep_alive(Duration::MAX)
            .enable_all()
            .build()
            .map_err(|error| data_folder::file_trouble(data.path(), &error))?;
        bowline_mcp::start_blocking_threads(&runtime, BLOCKING_THREADS_MIN);
        let inside = runtime.enter();
        let no = |error: io::Error| ServeTrouble::CannotListen {
            address: options.listen.to_string(),
            cause: system_cause(&error),
        };
        let tcp = std::net::TcpListener::bind(options.listen).map_err(no)?;
        tcp.set_nonblocking(true).map_err(no)?;
        let tcp = TcpListener::from_std(tcp).map_err(no)?;
        let address = tcp.local_addr().map_err(no)?;
        let socket = data.file_path(SOCKET_FILE);
        let unix = bind_unix_socket(&socket)
            .map_err(|error| data_folder::file_trouble(&socket, &error))?;
        drop(inside);
        let url = format!("http://{address}");
        data.record_address(&url)?;
        let context = Context {
            actor: Some(Actor::Person),
            ..Context::from_environment("bowline serve")
        };
        let public_url = options.public_url.clone().unwrap_or_else(|| url.clone());
        let mut hosts = options.hosts.clone();
        hosts.extend(
            public_url
                .split_once("://")
                .map(|(_, host)| host.to_owned()),
        );
        let streams_max = STREAMS_MAX.min(places / 2);
        let instance = data_folder::random_secret()
            .map_err(|error| data_folder::file_trouble(data.path(), &error))?;
        let shared = Arc::new(SharedState {
            auth: Authenticator::new(&token, public_url.starts_with("https://")),
            allowed_hosts: AllowedHosts::new(address, &hosts),
            rate_limits: RateLimits::default(),
            keys_in_use: KeysInUse::default(),
            events: EventBroadcaster::new(0),
            metrics: ServerMetrics::default(),
            workspaces: WorkspaceRegistry::new(&options.workspaces),
            clock: context.clock.clone(),
            started_at: context.now(),
            context,
            url,
            public_url,
            instance: instance[..16].to_owned(),
            streams: Arc::new(Semaphore::new(streams_max)),
            streams_max,
            zips: Arc::new(Semaphore::new(ZIPS_MAX)),
            checks: Arc::new(Semaphore::new(CHECKS_MAX)),
            runs: ActiveRuns::default(),
            stopping: watch::Sender::new(false),
            stop_requested: watch::Sender::new(false),
            connections: Arc::new(Semaphore::new(places)),
            connections_max: places,
            status: AtomicU8::new(0),
            job_service: OnceLock::new(),
        });
        Ok(Server {
            runtime,
            tcp,
            unix,
            shared,
            data,
            lock,
        })
    }

    /// Returns the address of the server.
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// Keeps other servers out of the data folder until the commands of this process have ended,
    /// even if it is killed.
    pub fn hold_lock_for_commands(&self) {
        // Without another descriptor the commands still end, a moment later.
        if let Ok(lock) = self.lock.try_clone() {
            process::hold_while_commands_run(lock);
        }
    }

    /// Returns a handle that stops the server.
    pub fn stop_handle(&self) -> ServerStopHandle {
        ServerStopHandle(Arc::clone(&self.shared))
    }

    /// Creates a link that signs one browser in, once.
    pub fn sign_in_link(&self) -> Result<String, ServeTrouble> {
        session::create_sign_in_link(&self.shared).map_err(|_| ServeTrouble::NotAFolder {
            path: display_path(self.data.path()),
        })
    }

    /// Serves until a signal or a [`ServerStopHandle`] stops the server. Requests that arrive while
    /// `begin` runs get the response that the server is starting.
    pub fn run(
        self,
        begin: impl FnOnce(EventPublisher) -> Result<Arc<dyn JobService>, ServeTrouble>,
        ready: impl FnOnce(),
    ) -> Result<(), ServeTrouble> {
        let Server {
            runtime,
            tcp,
            unix,
            shared,
            data,
            lock: _lock,
        } = self;
        // From here on signals are recorded; they take effect once everything has started.
        let signals = ProcessSignals::register_handlers(&runtime);
        let router = router::build_router(&shared);
        runtime.spawn(accept_tcp(Arc::clone(&shared), router.clone(), tcp));
        runtime.spawn(accept_unix(Arc::clone(&shared), router, unix));
        let work = begin(EventPublisher(Arc::clone(&shared)))?;
        let newest = work.store().feed_range();
        let (_, newest) = newest.map_err(|error| jobs::store_failure(&error))?;
        shared.events.raise_latest(newest);
        let _ = shared.job_service.set(work);
        runtime.spawn(retention::prune_regularly(Arc::clone(&shared)));
        shared.set_status(ServerStatus::Ready);
        shared.workspaces.watch_folders(&shared);
        tracing::info!(url = shared.url, "ready");
        ready();
        runtime.block_on(wait_for_stop(&shared, signals));
        tracing::info!("stopping; agents go on");
        shared.set_status(ServerStatus::Draining);
        shared.stopping.send_replace(true);
        shared.runs.detach_all();
        runtime.block_on(async {
            let all = u32::try_from(shared.connections_max).unwrap_or(u32::MAX);
            let gone = shared.connections.acquire_many(all);
            // Connections that are still open after that are closed.
            let _ = tokio::time::timeout(STOP_TIMEOUT, gone).await;
        });
        let _ = std::fs::remove_file(data.file_path(SOCKET_FILE));
        runtime.shutdown_timeout(STOP_TIMEOUT);
        Ok(())
    }
}

/// Writes the log to standard error, one line per event; as JSON for programs.
pub fn log_to_stderr(json: bool) {
    let log = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false)
        .with_max_level(tracing::Level::INFO);
    // If a subscriber is set already, it stays.
    let _ = match json {
        true => log.json().try_init(),
        false => log.try_init(),
    };
}

/// Signals that a server handles.
struct ProcessSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl ProcessSignals {
    fn register_handlers(runtime: &Runtime) -> io::Result<ProcessSignals> {
        let _inside = runtime.enter();
        Ok(ProcessSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// Waits for a signal to stop or a call of [`ServerStopHandle::stop`]. SIGHUP reloads the settings,
/// unless the terminal is gone.
async fn wait_for_stop(shared: &Arc<SharedState>, signals: io::Result<ProcessSignals>) {
    let mut stop = shared.stop_requested.subscribe();
    let at_terminal = io::stderr().is_terminal();
    let Ok(mut signals) = signals else {
        let _ = stop.wait_for(|stop| *stop).await;
        return;
    };
    loop {
        tokio::select! {
            _ = signals.interrupt.recv() => return,
            _ = signals.terminate.recv() => return,
            // `shared` owns the sender, so it is not dropped meanwhile.
            _ = stop.wait_for(|stop| *stop) => return,
            _ = signals.hang_up.recv() => {
                if at_terminal && !io::stderr().is_terminal() {
                    return;
                }
                let shared = Arc::clone(shared);
                let _ = tokio::task::spawn_blocking(move || reload_settings(&shared)).await;
            }
        }
    }
}

/// Reads the settings again. Invalid settings change nothing.
fn reload_settings(shared: &SharedState) {
    let Ok(work) = shared.job_service() else {
        return;
    };
    match work.reload_settings() {
        Ok(()) => tracing::info!("the settings were read again"),
        Err(trouble) => {
            let (reason, _) = trouble.say(Lang::En);
            tracing::error!(reason, "the settings cannot be used; the old ones stay");
        }
    }
}

/// Locks the data folder, so that only one server uses it.
fn lock_data_folder(data: &DataFolder) -> Result<File, ServeTrouble> {
    let path = data.file_path("server.lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| data_folder::file_trouble(&path, &error))?;
    // Commands of a killed server hold its lock until they have ended; a process that it was just
    // starting holds it until it has become another program.
    for _ in 0..LOCK_TRIES {
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(file);
        }
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
    Err(ServeTrouble::AlreadyServing {
        path: display_path(data.path()),
    })
}

/// Raises the limit of file descriptors as far as possible and returns how many of them connections
/// may use.
fn raise_descriptor_limit() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: now.maximum,
        maximum: now.maximum,
    };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => now.maximum,
        Err(_) => now.current,
    };
    let all = current.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
    all.saturating_sub(RESERVED_DESCRIPTORS)
        .clamp(64, CONNECTIONS_MAX)
}

/// Binds the Unix socket, for this user only. Removes the socket of an earlier server: the caller
/// holds the lock.
fn bind_unix_socket(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = with_socket_path(path, |path| std::os::unix::net::UnixListener::bind(path))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Calls a function with a path of the socket that is short enough for a socket address.
pub fn with_socket_path<T>(
    path: &Path,
    with: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if path.as_os_str().len() > SOCKET_PATH_MAX => {
            let folder = File::open(folder)?;
            let short = format!("/proc/self/fd/{}", folder.as_raw_fd());
            with(&Path::new(&short).join(name))
        }
        (Some(_) | None, Some(_) | None) => with(path),
    }
}

async fn accept_tcp(shared: Arc<SharedState>, router: Router, listener: TcpListener) {
    let mut stopping = shared.stopping.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => return,
        };
        let Ok((stream, address)) = accepted else {
            // Most likely out of descriptors: other connections will close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (shared, router) = (Arc::clone(&shared), router.clone());
        tokio::spawn(async move {
            serve_connection(shared, router, stream, ConnectionPeer::Tcp(address)).await
        });
    }
}

async fn accept_unix(shared: Arc<SharedState>, router: Router, listener: UnixListener) {
    let mut stopping = shared.stopping.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => return,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (shared, router) = (Arc::clone(&shared), router.clone());
        tokio::spawn(async move {
            let ours = rustix::process::getuid().as_raw();
            let peer = stream.peer_cred().ok().filter(|peer| peer.uid() == ours);
            let pid = peer.and_then(|peer| u32::try_from(peer.pid()?).ok());
            // Examined while the peer surely exists, on a blocking thread.
            let looked = tokio::task::spawn_blocking(move || match pid {
                Some(pid) => match actor::standing_of(pid) {
                    DetectedActor::Agent => (DetectedActor::Agent, actor::descent_of(pid)),
                    other => (other, ProcessAncestry::default()),
                },
                None => (DetectedActor::Agent, ProcessAncestry::default()),
            });
            let unknown = (
                DetectedActor::Unshown(MissingPersonProof::Ancestors),
                ProcessAncestry::default(),
            );
            let (standing, descent) = looked.await.unwrap_or(unknown);
            let peer = ConnectionPeer::Socket(standing, Arc::new(descent));
            serve_connection(shared, router, stream, peer).await;
        });
    }
}

/// Serves one connection until either end closes it.
async fn serve_connection<S>(
    shared: Arc<SharedState>,
    router: Router,
    mut stream: S,
    peer: ConnectionPeer,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Ok(place) = Arc::clone(&shared.connections).try_acquire_owned() else {
        let _ = shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
        let no =
            ApiError::Server(ServerNo::TooManyConnections).render_detail(bowline_words::Lang::En);
        let body = serde_json::json!({ "error": no }).to_string();
        let answer = format!(
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let _ = tokio::time::timeout(HEADER_TIMEOUT, stream.write_all(answer.as_bytes())).await;
        return;
    };
    let _ = shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
    let mut stopping = shared.stopping.subscribe();
    let answering = Arc::clone(&shared);
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (shared, router) = (Arc::clone(&answering), router.clone());
        let peer = peer.clone();
        async move {
            let request = request.map(Body::new);
            let response = router::handle_request(shared, router, peer, request).await;
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stopping.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection");
    }
    let _ = shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
    drop(place);
}
