//! All attempts of one process, driven by one thread.
//!
//! [`Attempts`] is the handle: orders go in, [`News`] come out, in order for each attempt. The thread behind it polls the
//! connections to all shims; whatever takes its time (starting a shim, sweeping a lost attempt) is done by a few helpers.
//! Nothing is known here of why an agent runs.
//!
//! **What the caller has to do.** An id and a folder are chosen, and written down, before [`Attempts::begin`]: after a crash
//! [`Attempts::attach`] goes on with them, from the [`Resume`] that was last written down, and whatever had been reported
//! behind it is reported again. Each [`Happened::Output`] is answered with [`Attempts::processed`] once what follows from it
//! is durable: only then is it acknowledged to the shim, and an agent whose output nobody takes is not read further.
//!
//! **How it ends.** The last news of every attempt is one of [`Happened::Exited`], [`Happened::Lost`] and
//! [`Happened::NotBegun`]; none follows it, and its id is forgotten.

mod one;
mod reading;
mod shell;
mod workers;

use super::or_end_process;
use bowline_formats::agents::{Delivery, Event, Protocol, Resume, Writer};
use bowline_supervisor::{Blocked, Exit, Shim, Spec, State, Status, Swept, Want};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes of standard error that are told with an end.
pub const ERROR_TAIL_BYTES: usize = 4 << 10;

/// A message to an agent, made when it can be sent: some clients have to be asked for a conversation first, and then it is
/// asked for again.
pub type Message = Box<dyn FnMut(&mut Writer) -> Delivery + Send>;

/// How an agent speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// Its protocol.
    pub protocol: Protocol,
    /// The word by which its markers are known, as it was given to it.
    pub nonce: Option<String>,
}

/// An attempt that is to be made.
pub struct Begin {
    /// Its folder, which is made now.
    pub folder: PathBuf,
    /// What is to run, under which id and fencing number.
    pub spec: Spec,
    /// All the variables it gets.
    pub environment: BTreeMap<String, String>,
    /// How it speaks.
    pub voice: Voice,
    /// What it is told first.
    pub first: Option<Message>,
    /// The conversation it goes on with, for a client that is told so and not by its arguments.
    pub session: Option<String>,
    /// Its standard input ends behind what it is told first.
    pub close_input: bool,
}

/// Messages by which a client is greeted, where its protocol has a greeting; others follow them.
pub const GREETINGS: u64 = 2;

/// An attempt that was made before.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its folder.
    pub folder: PathBuf,
    /// The fencing number under which it is given orders from now on.
    pub fence: u64,
    /// How it speaks.
    pub voice: Voice,
    /// Where reading goes on.
    pub resume: Resume,
    /// Its conversation, where that is known.
    pub session: Option<String>,
}

/// News of one attempt.
#[derive(Debug)]
pub struct News {
    /// Which.
    pub id: Arc<str>,
    /// What.
    pub what: Happened,
}

/// What happened to an attempt.
#[derive(Debug)]
pub enum Happened {
    /// The agent runs: it was started now, or found alive.
    Running {
        /// How things are.
        status: Box<Status>,
    },
    /// It said something.
    Output {
        /// Place of the first byte in its output.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// What they tell.
        events: Vec<Event<'static>>,
        /// Where reading goes on after all this has been acted upon.
        resume: Resume,
    },
    /// As looked at: it stopped, goes on, or is being ended.
    Now(State),
    /// Its output cannot be kept, or nobody takes it: it stands still.
    Blocked(Blocked),
    /// It cannot be reached although it lives. Tried again all the time.
    Silent {
        /// Why.
        message: String,
    },
    /// An order or a message could not be carried out.
    Refused {
        /// Stable, as `bowline explain` knows it.
        code: &'static str,
        /// Why.
        message: String,
    },
    /// The client takes no such message while it runs.
    Undelivered(Delivery),
    /// The agent has read every message up to this number. A shim that cannot tell counts those it wrote.
    InputRead {
        /// The number of the last one.
        upto: u64,
    },
    /// It ended.
    Exited {
        /// How.
        exit: Box<Exit>,
        /// The end of its standard error.
        error_tail: String,
    },
    /// Its shim is gone without having seen the end. What it left behind has been ended.
    Lost(Swept),
    /// No agent was ever started in this attempt, and none will be.
    NotBegun {
        /// Why, where that is known.
        message: Option<String>,
    },
}

/// What the thread is told.
enum Order {
    /// With the values its shim hides before the agent is there.
    Begin(Box<Begin>, Vec<String>),
    Hide(Vec<String>),
    Attach(Box<Known>),
    Want(Want),
    Interrupt,
    Say {
        seq: Option<u64>,
        last: bool,
        message: Message,
    },
    Processed {
        upto: u64,
        resume: Resume,
    },
    /// A shim was started for an attempt of ours, or could not be.
    Ready(Result<Box<bowline_supervisor::Attempt>, String>),
    /// A lost attempt was looked after.
    Swept(Swept),
    Leave,
}

/// The attempts of this process. Cheap to clone; the thread ends when the last one is gone, and every agent goes on.
#[derive(Debug, Clone)]
pub struct Attempts(Arc<Way>);

/// The way to the thread.
#[derive(Debug)]
struct Way {
    orders: Sender<(Arc<str>, Order)>,
    wake: UnixStream,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Way {
    fn leave(&self) {
        let _ = self.orders.send(("".into(), Order::Leave));
        let _ = (&self.wake).write(&[0]);
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.leave();
    }
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Messages and environments may hold secrets.
        f.write_str("Order")
    }
}

impl Attempts {
    /// Begins the thread. `sink` is called in it with all news: it hands them on, and never waits.
    pub fn drive(shim: Shim, sink: impl FnMut(News) + Send + 'static) -> io::Result<Attempts> {
        Attempts::drive_counting(shim, &Arc::default(), sink)
    }

    /// The same, and counts the starts that were tried again because the machine lacked something for them.
    pub fn drive_counting(
        shim: Shim,
        retries: &Arc<AtomicU64>,
        sink: impl FnMut(News) + Send + 'static,
    ) -> io::Result<Attempts> {
        let (orders, incoming) = channel();
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let (workers, mut threads) = workers::Workers::begin(shim, &orders, &wake, retries)?;
        let run = move || {
            or_end_process(|| shell::run(incoming, woken, workers, Box::new(sink)));
        };
        let named = std::thread::Builder::new().name("attempts".into());
        threads.push(named.spawn(run)?);
        let threads = Mutex::new(threads);
        Ok(Attempts(Arc::new(Way {
            orders,
            wake,
            threads,
        })))
    }

    /// Ends the threads and waits for them: no news come afterwards, and every agent goes on.
    pub fn close(&self) {
        self.0.leave();
        let mut threads = self
            .0
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for thread in std::mem::take(&mut *threads) {
            // One that panicked has ended as well.
            let _ = thread.join();
        }
    }

    /// Makes an attempt and starts its agent.
    pub fn begin(&self, begin: Begin) {
        self.begin_hiding(begin, Vec::new());
    }

    /// The same with values that are hidden in its output, in its log too. No agent is started by a shim that cannot do it.
    pub fn begin_hiding(&self, begin: Begin, values: Vec<String>) {
        let id = begin.spec.attempt.clone();
        self.order(&id, Order::Begin(Box::new(begin), values));
    }

    /// Hides these values in the output of an attempt from now on. What is said afterwards waits for it.
    pub fn hide(&self, id: &str, values: Vec<String>) {
        self.order(id, Order::Hide(values));
    }

    /// Goes on with an attempt that was made before, whatever has become of it.
    pub fn attach(&self, id: &str, known: Known) {
        self.order(id, Order::Attach(Box::new(known)));
    }

    /// How the agent shall be from now on.
    pub fn want(&self, id: &str, want: Want) {
        self.order(id, Order::Want(want));
    }

    /// Interrupts the agent, as Ctrl-C in a terminal does.
    pub fn interrupt(&self, id: &str) {
        self.order(id, Order::Interrupt);
    }

    /// Tells the agent something, behind whatever it was told before. Under a number, the same message may be sent again and
    /// is heard once; without, it gets the next. `last` closes the agent's standard input behind it.
    pub fn say(&self, id: &str, seq: Option<u64>, last: bool, message: Message) {
        self.order(id, Order::Say { seq, last, message });
    }

    /// Output up to this place has been acted upon, and `resume` is written down.
    pub fn processed(&self, id: &str, upto: u64, resume: Resume) {
        self.order(id, Order::Processed { upto, resume });
    }

    fn order(&self, id: &str, order: Order) {
        // A thread that has ended needs no orders.
        let _ = self.0.orders.send((id.into(), order));
        let _ = (&self.0.wake).write(&[0]);
    }
}

/// Bytes as they are, for an agent without a protocol of its own.
pub fn raw(text: String) -> Message {
    Box::new(move |_| Delivery::Input(text.clone()))
}

/// A prompt, in whatever form the client takes it.
pub fn prompt(text: String) -> Message {
    Box::new(move |writer| writer.write(bowline_formats::agents::ToAgent::Prompt(&text)))
}
