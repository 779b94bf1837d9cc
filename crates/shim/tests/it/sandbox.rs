//! What an agent in the sandbox can and cannot do, by trying. The table in `docs/sandbox.md` is
//! what these tests find.

use crate::actors::acting;
use crate::support::{World, environment, shim, until_state};
use bowline_supervisor::{ObservedState, OutputStream, Sandbox, SandboxSupport};
use bowline_test_support::{MissingRequirement, skip_test};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::net::{AddressFamily, SendFlags, SocketType, connect, ipproto, listen, sendto, socket};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Not named by `rustix`: data goes out with the first packet, without a call of `connect`.
const MSG_FASTOPEN: SendFlags = SendFlags::from_bits_retain(0x2000_0000);

/// The present time, as `utimensat` is told it.
const UTIME_NOW_STAMP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: UTIME_NOW,
};

const PAGE: &str = include_str!("../../../../docs/sandbox.md");

/// Something to be tried.
type Try = fn(&Surroundings) -> io::Result<()>;

/// Everything that is tried, in the order of the table.
const TRIES: [(&str, Try); 30] = [
    ("read the system's files", |_| {
        read(Path::new("/etc/passwd"))
    }),
    ("run the system's programs", |_| run("true", &[])),
    ("read and write files in its folder", |at| {
        fs::write(at.inside("made"), "text")?;
        read(&at.inside("made"))
    }),
    ("make, move and remove files in its folder", |at| {
        fs::create_dir(at.inside("sub"))?;
        fs::write(at.inside("one"), "text")?;
        fs::hard_link(at.inside("one"), at.inside("sub/two"))?;
        fs::remove_file(at.inside("one"))?;
        fs::remove_dir_all(at.inside("sub"))
    }),
    ("read a person's file elsewhere", |at| {
        read(&at.outside("secret"))
    }),
    ("list a folder elsewhere", |at| {
        fs::read_dir(&at.outside).map(drop)
    }),
    ("see whether a file elsewhere exists, and its size", |at| {
        fs::metadata(at.outside("secret")).map(drop)
    }),
    ("write a file elsewhere", |at| {
        fs::write(at.outside("secret"), "forged")
    }),
    ("make a file elsewhere", |at| {
        fs::write(at.outside("new"), "text")
    }),
    ("remove a file elsewhere", |at| {
        fs::remove_file(at.outside("secret"))
    }),
    ("move a file of its own elsewhere", |at| {
        fs::write(at.inside("mine"), "text")?;
        fs::hard_link(at.inside("mine"), at.outside("mine"))
    }),
    ("change mode and times of a file elsewhere", |at| {
        let path = at.outside("other");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
        let now = Timestamps {
            last_access: UTIME_NOW_STAMP,
            last_modification: UTIME_NOW_STAMP,
        };
        Ok(utimensat(CWD, &path, &now, AtFlags::empty())?)
    }),
    ("shorten a file it may only read", |at| {
        File::options()
            .write(true)
            .truncate(true)
            .open(&at.readable)
            .map(drop)
    }),
    ("read the attempt's folder (output, spec, lock)", |at| {
        fs::read_dir(&at.attempt).map(drop)
    }),
    (
        "write into the attempt's folder (output, end, lock)",
        |at| {
            let file = |name: &str| File::options().write(true).open(at.attempt.join(name));
            file("log")
                .and(file("exit.json"))
                .and(file("lock"))
                .map(drop)
        },
    ),
    ("put a file into the attempt's folder", |at| {
        fs::write(at.attempt.join("made"), "text")
    }),
    ("connect to a port that is listed", |at| {
        TcpStream::connect(("127.0.0.1", at.open)).map(drop)
    }),
    ("connect to another port", |at| {
        TcpStream::connect(("127.0.0.1", at.shut)).map(drop)
    }),
    ("connect to another port by TCP fast open or MPTCP", |at| {
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, at.shut);
        let fast = || {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            sendto(&socket, b"x", MSG_FASTOPEN, &to).map(drop)
        };
        let many_paths = || {
            let socket = socket(
                AddressFamily::INET,
                SocketType::STREAM,
                Some(ipproto::MPTCP),
            )?;
            connect(&socket, &to)
        };
        Ok(fast().or_else(|_| many_paths())?)
    }),
    ("listen on a port", |_| {
        TcpListener::bind(("127.0.0.1", 0)).map(drop)
    }),
    ("listen on a port that the kernel chooses", |_| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        Ok(listen(&socket, 1)?)
    }),
    ("send datagrams (UDP)", |_| {
        UdpSocket::bind(("127.0.0.1", 0))?
            .send_to(b"x", ("127.0.0.1", 9))
            .map(drop)
    }),
    ("connect to a socket file elsewhere", |at| {
        UnixStream::connect(at.outside("socket")).map(drop)
    }),
    ("connect to an abstract socket of another program", |at| {
        let address = SocketAddr::from_abstract_name(at.abstract_name.as_bytes())?;
        UnixStream::connect_addr(&address).map(drop)
    }),
    ("signal its shim", |at| run("kill", &["-0", &at.shim])),
    ("signal another program of the same user", |at| {
        run("kill", &["-0", &at.stranger])
    }),
    (
        "limit (prlimit) its shim and another program of the same user",
        |at| {
            let none = || Rlimit {
                current: Some(0),
                maximum: Some(0),
            };
            for pid in [&at.shim, &at.stranger] {
                let pid = Pid::from_raw(pid.parse().unwrap());
                prlimit(pid, Resource::Core, none())?;
            }
            Ok(())
        },
    ),
    ("read the environment of its shim", |at| {
        read(Path::new(&format!("/proc/{}/environ", at.shim)))
    }),
    ("see that other processes exist", |at| {
        read(Path::new(&format!("/proc/{}/stat", at.stranger)))
    }),
    (
        "do any of this through a child in a session of its own",
        |at| {
            let path = at.outside("other");
            run("setsid", &["cat", path.to_str().unwrap()])
        },
    ),
];

/// Where the actor finds what it tries to reach.
struct Surroundings {
    workspace: PathBuf,
    outside: PathBuf,
    readable: PathBuf,
    attempt: PathBuf,
    open: u16,
    shut: u16,
    abstract_name: String,
    shim: String,
    stranger: String,
}

impl Surroundings {
    fn names() -> [&'static str; 9] {
        [
            "WORKSPACE",
            "OUTSIDE",
            "READABLE",
            "ATTEMPT",
            "OPEN",
            "SHUT",
            "ABSTRACT",
            "SHIM",
            "STRANGER",
        ]
    }

    fn from_environment() -> Surroundings {
        let [
            workspace,
            outside,
            readable,
            attempt,
            open,
            shut,
            abstract_name,
            shim,
            stranger,
        ] = Surroundings::names().map(|name| std::env::var(name).unwrap());
        Surroundings {
            workspace: workspace.into(),
            outside: outside.into(),
            readable: readable.into(),
            attempt: attempt.into(),
            open: open.parse().unwrap(),
            shut: shut.parse().unwrap(),
            abstract_name,
            shim,
            stranger,
        }
    }

    fn inside(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.outside.join(name)
    }
}

fn read(path: &Path) -> io::Result<()> {
    File::open(path)?.read_to_end(&mut Vec::new()).map(drop)
}

fn run(program: &str, words: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(words).output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// The part of the agent: tries everything and says what worked.
pub(crate) fn try_everything() {
    let surroundings = Surroundings::from_environment();
    for (name, attempt) in TRIES {
        let word = if attempt(&surroundings).is_ok() {
            "can"
        } else {
            "cannot"
        };
        #[expect(clippy::print_stdout, reason = "what an agent says is its output")]
        {
            println!("| {name} | {word} |");
        }
    }
}

/// Runs the agent with or without the sandbox and returns what it says.
fn tried(sandboxed: bool) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = place.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (workspace, outside) = (folder("workspace"), folder("outside"));
    for name in ["secret", "other"] {
        fs::write(outside.join(name), "a person's token").unwrap();
    }
    let readable = place.path().join("readable");
    fs::write(&readable, "text").unwrap();
    let _socket = UnixListener::bind(outside.join("socket")).unwrap();
    let abstract_name = format!("bowline-test-{}-{sandboxed}", std::process::id());
    let address = SocketAddr::from_abstract_name(abstract_name.as_bytes()).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let port = || TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let (open, shut) = (port(), port());
    let number = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();

    let world = World::with("", |spec| {
        spec.command = acting("try_the_sandbox");
        spec.folder = workspace.clone();
        if sandboxed {
            let mut sandbox = Sandbox::with_writable(vec![workspace.clone()]);
            sandbox.read.push(std::env::current_exe().unwrap());
            sandbox.read.push(readable.clone());
            sandbox.connect = Some(vec![number(&open)]);
            sandbox.listen = Some(vec![]);
            spec.sandbox = Some(sandbox);
        }
    });
    shim().start_shim(&world.attempt).unwrap();
    let mut handle = world.attach();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let values = [
        text(&workspace),
        text(&outside),
        text(&readable),
        text(world.attempt.folder()),
        number(&open).to_string(),
        number(&shut).to_string(),
        abstract_name,
        handle.greeting().shim.to_string(),
        stranger.id().to_string(),
    ];
    let mut given = environment();
    given.extend(
        Surroundings::names()
            .map(str::to_owned)
            .into_iter()
            .zip(values),
    );
    handle.start_agent(&given).unwrap();
    until_state(&mut handle, ObservedState::Ended);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    let said = world.output(OutputStream::Out);
    let rows: Vec<String> = said
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(str::to_owned)
        .collect();
    let told = world.output(OutputStream::Err);
    assert_eq!(
        rows.len(),
        TRIES.len(),
        "{said}\n{told}\n{:?}",
        world.ended()
    );
    rows
}

/// What the table says is what this kernel does.
#[test]
fn the_table_of_the_sandbox_is_true() {
    let support = SandboxSupport::detect_features();
    if support
        .feature_rows()
        .iter()
        .any(|(_, _, enforced)| !enforced)
    {
        skip_test(
            MissingRequirement::WholeSandbox,
            "this kernel enforces a part of the sandbox only",
        );
        return;
    }
    let table = tried(true).join("\n");
    assert!(
        PAGE.contains(&table),
        "docs/sandbox.md should say:\n{table}"
    );
}

/// Without the sandbox everything works: what the table denies is denied by the sandbox and by
/// nothing else.
#[test]
fn without_the_sandbox_everything_can_be_done() {
    let refused: Vec<String> = tried(false)
        .into_iter()
        .filter(|row| !row.ends_with("| can |"))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}

/// A kernel that cannot enforce what was asked for starts nothing, unless told to do what it can.
#[test]
fn a_sandbox_is_entered_or_nothing_is_started() {
    let support = SandboxSupport::detect_features();
    let world = World::with("cat /etc/passwd; echo reached", |spec| {
        // No roots at all: not even the shell can be run.
        spec.sandbox = Some(Sandbox::default());
    });
    let exit = world.run().exit.unwrap();
    assert!(!exit.started, "{exit:?}");
    let told = exit.start_error.unwrap();
    let words = if support.files {
        "cannot run sh"
    } else {
        "cannot enforce"
    };
    assert!(told.contains(words), "{told}");
}

/// What was looked at when the roots were decided is what is granted: a link put in its place since
/// then grants nothing.
#[test]
fn a_root_that_became_a_link_keeps_the_agent_from_starting() {
    if !SandboxSupport::detect_features().files {
        skip_test(MissingRequirement::Landlock, "this kernel has no Landlock");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let outside = place.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    let link = place.path().join("root");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    for root in [link.clone(), link.join("deep"), PathBuf::from("root")] {
        let world = World::with("echo reached", |spec| {
            spec.sandbox = Some(Sandbox::with_writable(vec![root.clone()]));
        });
        let exit = world.run().exit.unwrap();
        let told = exit.start_error.unwrap_or_default();
        assert!(
            !exit.started && told.contains("cannot be granted"),
            "{told}"
        );
    }
}

/// The shim stands in `/`: a folder that is not whole would be looked for there.
#[test]
fn without_a_whole_folder_nothing_is_started() {
    for folder in [".", "", "no/such"] {
        let world = World::with("pwd; echo reached", |spec| {
            spec.folder = PathBuf::from(folder);
        });
        let exit = world.run().exit.unwrap();
        let told = exit.start_error.unwrap_or_default();
        assert!(!exit.started && told.contains("not a whole path"), "{told}");
        assert_eq!(world.output(OutputStream::Out), "");
    }
}
