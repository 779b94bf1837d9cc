//! Graphs of tasks that do nothing, worked off by the conductor of a run with every transition durable, beside programs that
//! work off graphs and keep nothing.

use crate::Outcome;
use crate::graphs::{Shape, needs};
use crate::measure::{Contender, in_turns, time};
use crate::options::Options;
use crate::report::{Bound, Report};
use bowline_engine::Context;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::settings::BowlineSettings;
use bowline_engine::operations::orchestrate::{Orchestration, OrchestrationOptions};
use bowline_engine::supervisor::WantedState;
use bowline_machines::orchestrate::{
    Command as Move, Effect, NodeId, OrchestrationState, PhaseEnd,
};
use bowline_runner::orchestrate as runner;
use bowline_runner::orchestrate::{
    Conductor, ConductorEvent, ConductorPorts, GitJob, LandOutcome, PhaseOutcome, ResourceShortage,
    RunError, RunJournal, RunNotice, RunOutcome, TaskAgentEvent, TaskRecord, WorktreeOutcome,
};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Tasks at once, for everybody.
const PARALLEL: usize = 8;
/// Of the time of `make`, what the engine may take.
const ENGINE_MAX: f64 = 0.5;
/// Of three bare starts and the flushes, what the whole way may take.
const WHOLE_MAX: f64 = 1.5;
/// "Flat", as for single transitions.
const GROWTH_MAX: f64 = 2.0;
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// Flushes of one task on its way: three moves and notes of the run, and three of its attempt.
const FLUSHES: usize = 6;

/// The graphs: nobody waits for anybody, each waits for the one before, and layers in between.
fn shapes(nodes: usize) -> [(&'static str, Shape); 3] {
    [
        ("wide", Shape::Layers(nodes)),
        ("deep", Shape::Chain),
        ("layered", Shape::Layers(100.min(nodes))),
    ]
}

/// The engine alone: conductor, journal, notes and state file, with tasks that are done the moment they are begun.
pub(crate) fn engine(options: &Options) -> Outcome<Report> {
    let nodes = options.rounds(10_000, 1_000);
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    for (name, shape) in shapes(nodes) {
        let scratch = Options::outside(&format!("dag-{name}"))?;
        plan(scratch.path(), nodes, shape)?;
        peers(scratch.path(), nodes, shape)?;
        let folder = scratch.path();
        let mut contenders: Vec<Contender<'_>> = vec![
            Box::new(|_| alone(folder)),
            Box::new(|_| timed(folder, "make", &["-s", "-j8", "-f", "Makefile"])),
        ];
        let samples = in_turns(1, &mut contenders)?;
        let each = |time: Duration| time.as_secs_f64() * 1e6 / nodes as f64;
        let (ours, make) = (each(samples[0].median()), each(samples[1].median()));
        worst = worst.max(ours / make);
        let ninja = peer(folder, "ninja", &["--quiet", "-j8"]).map(each);
        let parallel = match name {
            // It knows no graph: layers are handed to it one after the other, and a chain would be one start for each task.
            "deep" => None,
            _ => peer(folder, "sh", &["parallel.sh"]).map(each),
        };
        let shown = |time: Option<f64>| time.map_or("missing".into(), |it| format!("{it:.0}"));
        rows.push(vec![
            name.to_owned(),
            format!("{ours:.0}"),
            format!("{make:.0}"),
            shown(ninja),
            match name {
                "deep" => "no graphs".into(),
                _ => shown(parallel),
            },
            format!("{:.2}", ours / make),
        ]);
    }
    Ok(Report {
        name: "dag",
        about: format!(
            "{nodes} tasks that do nothing, {PARALLEL} at once, in microseconds per task: the conductor of a run with its \
             journal, notes and state file, every transition durable, against programs that start `true` for each and keep \
             nothing. Layers are 100 wide, with three needs for each task."
        ),
        columns: &[
            "graph",
            "**engine**, µs",
            "`make -j8`",
            "`ninja -j8`",
            "GNU parallel",
            "of `make`",
        ],
        rows,
        bound: Some(Bound {
            promise: "the engine alone takes at most 0.5 times what `make -j` takes",
            found: format!("{worst:.2} at worst"),
            kept: worst <= ENGINE_MAX,
        }),
    })
}

/// The whole way: the program, a shim and an agent for every task.
pub(crate) fn shims(options: &Options) -> Outcome<Report> {
    let nodes = options.rounds(10_000, 400);
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    let mut kept = Vec::new();
    for (name, shape) in shapes(nodes) {
        let at_once = match shape {
            Shape::Chain => 1,
            Shape::Layers(_) | Shape::Fans(_) => PARALLEL,
        };
        // Taken away when all is measured: for a minute after thousands of files went, ext4 makes every new one slowly.
        kept.push(Options::outside(&format!("dag-shims-{name}"))?);
        let folder = kept[kept.len() - 1].path();
        peers(folder, nodes, shape)?;
        let mut contenders: Vec<Contender<'_>> = vec![
            Box::new(|_| floor(folder, nodes, at_once)),
            Box::new(|round| {
                let folder = folder.join(format!("round-{round}"));
                std::fs::create_dir(&folder)?;
                plan(&folder, nodes, shape)?;
                whole(options, &folder)
            }),
            Box::new(|_| timed(folder, "make", &["-s", "-j8", "-f", "Makefile"])),
        ];
        let samples = in_turns(1, &mut contenders)?;
        let each = |at: usize| samples[at].median().as_secs_f64() * 1e6 / nodes as f64;
        worst = worst.max(each(1) / each(0));
        rows.push(vec![
            name.to_owned(),
            format!("{:.0}", each(1)),
            format!("{:.0}", each(0)),
            format!("{:.0}", each(2)),
            format!("{:.2}", each(1) / each(0)),
        ]);
    }
    Ok(Report {
        name: "dag-shims",
        about: format!(
            "`bowline orchestrate run` over {nodes} tasks whose agent is `true`, {PARALLEL} at once, outside of git: for each a \
             prompt, an attempt folder, a shim and an agent, in microseconds per task. The floor starts `true` three times and \
             flushes {FLUSHES} times for each task, as many at once as the graph allows."
        ),
        columns: &[
            "graph",
            "**whole way**, µs",
            "floor",
            "`make -j8`",
            "of the floor",
        ],
        rows,
        bound: Some(Bound {
            promise: "at most 1.5 times three bare starts and the flushes of each task",
            found: format!("{worst:.2} at worst"),
            kept: worst <= WHOLE_MAX,
        }),
    })
}

/// The engine alone, from small runs to large ones.
pub(crate) fn growth(options: &Options) -> Outcome<Report> {
    let sizes = match options.rounds(4, 3) {
        0..=3 => &SIZES[..3],
        _ => &SIZES[..],
    };
    let mut times = Vec::new();
    for &nodes in sizes {
        let scratch = Options::outside(&format!("dag-growth-{nodes}"))?;
        plan(scratch.path(), nodes, Shape::Layers(100))?;
        let taken = alone(scratch.path())?;
        times.push(taken.as_secs_f64() * 1e6 / nodes as f64);
    }
    let rows = sizes.iter().zip(&times).map(|(nodes, time)| {
        vec![
            nodes.to_string(),
            format!("{time:.0}"),
            format!("{:.2}", time / times[0]),
        ]
    });
    let worst = times.iter().map(|time| time / times[0]).fold(0.0, f64::max);
    Ok(Report {
        name: "dag-growth",
        about: "The engine alone over layers of 100 tasks, from reading the state file to writing it for the last time.".into(),
        columns: &["tasks", "µs per task", "times that of 100"],
        rows: rows.collect(),
        bound: Some(Bound {
            promise: "a task costs the same in runs of 100 to 100,000 (at most 2 times)",
            found: format!("{worst:.2} at worst"),
            kept: worst <= GROWTH_MAX,
        }),
    })
}

/// A plan, its settings and nothing else of a run.
fn plan(folder: &Path, nodes: usize, shape: Shape) -> Outcome {
    let mut text = "# TASKS: Bench\n\n## Phase 1: All\n".to_owned();
    for node in 0..nodes {
        writeln!(text, "### [ ] T1.{node}: Nothing")?;
        let needs: Vec<String> = needs(node, shape)
            .iter()
            .map(|need| format!("T1.{need}"))
            .collect();
        if !needs.is_empty() {
            writeln!(text, "- depends on: {}", needs.join(", "))?;
        }
    }
    std::fs::write(folder.join("TASKS.md"), text)?;
    let settings = "[defaults]\nagent = \"nothing\"\n[agent.nothing]\ncommand = [\"true\", \"{prompt_file}\"]\n";
    std::fs::write(folder.join("bowline.toml"), settings)?;
    Ok(())
}

/// The same graph for others.
fn peers(folder: &Path, nodes: usize, shape: Shape) -> Outcome {
    let names = |all: Vec<usize>| {
        let names: Vec<String> = all.iter().map(|node| format!("t{node}")).collect();
        names.join(" ")
    };
    let all = names((0..nodes).collect());
    let mut make = format!(".PHONY: all {all}\nall: {all}\n");
    let mut ninja = "rule nothing\n  command = true\n".to_owned();
    for node in 0..nodes {
        let needs = names(needs(node, shape));
        writeln!(make, "t{node}: {needs}\n\t@true")?;
        writeln!(ninja, "build t{node}: nothing {needs}")?;
    }
    writeln!(ninja, "build all: phony {all}\ndefault all")?;
    std::fs::write(folder.join("Makefile"), make)?;
    std::fs::write(folder.join("build.ninja"), ninja)?;
    let width = match shape {
        Shape::Layers(width) => width,
        Shape::Chain | Shape::Fans(_) => 1,
    };
    let layers = nodes.div_ceil(width);
    let script = format!(
        "command -v parallel >/dev/null || exit 127\n\
         for layer in $(seq {layers}); do seq {width} | parallel -j{PARALLEL} --will-cite true || exit 1; done\n"
    );
    std::fs::write(folder.join("parallel.sh"), script)?;
    Ok(())
}

fn timed(folder: &Path, program: &str, words: &[&str]) -> Outcome<Duration> {
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .stdout(Stdio::null());
    let (taken, status) = time(|| command.status());
    match status.map_err(|error| format!("{program}: {error}"))? {
        status if status.success() => Ok(taken),
        status => Err(format!("{program}: {status}").into()),
    }
}

/// One that may be missing.
fn peer(folder: &Path, program: &str, words: &[&str]) -> Option<Duration> {
    timed(folder, program, words).ok()
}

/// Three starts of nothing and the flushes of a task, as many tasks at once as the graph allows.
fn floor(folder: &Path, nodes: usize, at_once: usize) -> Outcome<Duration> {
    let work = |worker: usize| -> std::io::Result<()> {
        let mut file = File::create(folder.join(format!("floor-{worker}")))?;
        for _ in (worker..nodes).step_by(at_once) {
            for _ in 0..3 {
                Command::new("true").status()?;
            }
            for _ in 0..FLUSHES {
                file.write_all(&[b'x'; 300])?;
                file.sync_data()?;
            }
        }
        Ok(())
    };
    let (taken, done) = time(|| {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..at_once)
                .map(|worker| scope.spawn(move || work(worker)))
                .collect();
            workers
                .into_iter()
                .all(|worker| matches!(worker.join(), Ok(Ok(()))))
        })
    });
    match done {
        true => Ok(taken),
        false => Err("the floor could not be measured".into()),
    }
}

/// The program itself.
fn whole(options: &Options, folder: &Path) -> Outcome<Duration> {
    let mut command = Command::new(&options.bowline);
    command
        .args(["orchestrate", "run", "--parallel", "8", "--json"])
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (taken, status) = time(|| command.status());
    match status? {
        status if status.success() => Ok(taken),
        status => Err(format!("orchestrate run: {status}").into()),
    }
}

/// From the state file to its last version, with an executor that does nothing.
fn alone(folder: &Path) -> Outcome<Duration> {
    std::fs::remove_dir_all(folder.join(".claude")).ok();
    std::fs::remove_dir_all(folder.join("notes")).ok();
    let context = Context::from_environment("bench");
    let orchestration = Orchestration::in_folder(&context, folder);
    orchestration.create_run(
        &context,
        &OrchestrationOptions {
            plan: None,
            mode: RunMode::Normal,
            parallel: u32::try_from(PARALLEL)?,
            project: None,
        },
    )?;
    let rules = runner::RunRules {
        // As outside of git.
        landings_max: usize::MAX,
        ..runner::run_rules(
            &runner::RunOptions::default(),
            &BowlineSettings::default(),
            RunMode::Normal,
        )
    };
    let (taken, ended) = time(|| -> Outcome<RunOutcome> {
        let owned = orchestration.take_ownership(&context, |config| config)?;
        let mut nothing = Nothing {
            ledger: RunJournal::open(owned, &folder.join("notes"), "bench")?,
            context: context.clone(),
            orders: VecDeque::new(),
        };
        let mut conductor = Conductor::new(rules);
        conductor.resume_run(&mut nothing)?;
        let ended = loop {
            if let Some(ended) = conductor.run_outcome(&nothing) {
                break ended;
            }
            nothing.ledger.flush(&context)?;
            // All that happened at once is heard before the next flush, as in a real run.
            for event in std::mem::take(&mut nothing.orders) {
                conductor.on_event(&mut nothing, event)?;
            }
            nothing.ledger.write_if_due(&context)?;
        };
        nothing.ledger.owned.write_file(&context)?;
        Ok(ended)
    });
    match ended? {
        RunOutcome::AllDone => Ok(taken),
        other => Err(format!("the run ended with {other:?}").into()),
    }
}

/// Everything outside of a run, where nothing takes any time.
struct Nothing {
    ledger: RunJournal,
    context: Context,
    orders: VecDeque<ConductorEvent>,
}

impl ConductorPorts for Nothing {
    fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }

    fn run_state(&self) -> &OrchestrationState {
        self.ledger.run_state()
    }

    fn apply_command(&mut self, command: Move) -> Result<Vec<Effect>, RunError> {
        self.ledger.stage_command(&self.context, command)
    }

    fn speaks_protocol(&self, _id: &NodeId) -> bool {
        false
    }

    fn resource_shortage(&mut self) -> Option<ResourceShortage> {
        None
    }

    fn declared_paths(&self, _id: &NodeId) -> Vec<String> {
        Vec::new()
    }

    fn task_record(&mut self, id: &NodeId) -> TaskRecord {
        self.ledger.task_record(id)
    }

    fn recorded_starts(&self) -> Vec<i64> {
        self.ledger.recorded_starts()
    }

    fn store_record(&mut self, id: &NodeId, note: &TaskRecord) -> Result<(), RunError> {
        self.ledger.store_record(id, note);
        Ok(())
    }

    fn request_job(&mut self, job: GitJob) {
        let event = match job {
            GitJob::PrepareWorktree { id, .. } => ConductorEvent::WorktreePrepared {
                id,
                prepared: WorktreeOutcome::Ready { renewed: false },
            },
            GitJob::Land { id, .. } => ConductorEvent::Landed {
                id,
                outcome: LandOutcome::Done,
            },
            GitJob::FinishPhase { phase } => ConductorEvent::PhaseEnded {
                phase,
                outcome: PhaseOutcome::Ended {
                    end: PhaseEnd::NoGit,
                    why: None,
                },
            },
            GitJob::Clean { .. } | GitJob::Forecast { .. } => return,
        };
        self.orders.push_back(event);
    }

    fn request_start(&mut self, id: &NodeId, note: &TaskRecord) {
        self.orders.push_back(ConductorEvent::Attempt {
            id: id.clone(),
            number: note.attempt,
            event: TaskAgentEvent::Exited {
                code: Some(0),
                asked: false,
                tail: String::new(),
            },
        });
    }

    fn request_attach(&mut self, _id: &NodeId, _note: &TaskRecord) {}

    fn request_state(&mut self, _id: &NodeId, _number: u32, _want: WantedState) {}

    fn request_repeat(&mut self, _id: &NodeId, _number: u32) -> bool {
        false
    }

    fn request_input_close(&mut self, _id: &NodeId, _number: u32) {}

    fn phase_worktree(&self, _phase: u32) -> Option<Arc<str>> {
        None
    }

    fn agent_name(&self, _id: &NodeId) -> String {
        String::new()
    }

    fn queue_notice(&mut self, _told: RunNotice) {}
}
