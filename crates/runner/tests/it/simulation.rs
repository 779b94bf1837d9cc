//! The conductor over simulated time: thousands of runs from seeds, each with whatever can go
//! wrong.

use bowline_engine::machines::orchestrate::{NodeSpec, NodeStatus, OrchestrationLimits, TaskGraph};
use bowline_formats::settings::RunLimits;
use bowline_runner::core::breakers::CircuitBreakers;
use bowline_runner::orchestrate::{FailureOdds, RunOutcome, RunRules, simulate_run};
use std::sync::Arc;

/// Runs of the test; `BOWLINE_SIM_SEED` replays one.
const SEEDS: u64 = 2_000;

fn rules() -> RunRules {
    RunRules {
        tasks_max: 4,
        last_phase: None,
        ralph: false,
        iterations_max: 5,
        backoff_ms: 1_000,
        breakers: CircuitBreakers::from_limits(&RunLimits::default()),
        proposal_ms: 30_000,
        stack: false,
        landings_max: 1,
    }
}

/// Three phases of eight tasks; most need the one or two before them.
fn graph() -> Arc<TaskGraph> {
    let mut nodes = Vec::new();
    for phase in 0..3u32 {
        for task in 0..8u32 {
            let needs = [1, 3].into_iter().filter(|back| task % 4 >= *back);
            nodes.push(NodeSpec {
                id: format!("T{phase}.{task}").as_str().into(),
                phase,
                section: 0,
                dependencies: needs
                    .map(|back| format!("T{phase}.{}", task - back).as_str().into())
                    .collect(),
            });
        }
    }
    Arc::new(TaskGraph::new(nodes).unwrap())
}

#[test]
fn whatever_goes_wrong_nothing_is_lost_or_done_twice_and_every_run_ends() {
    let replayed = std::env::var("BOWLINE_SIM_SEED").ok();
    let seeds = match replayed.and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..SEEDS,
    };
    let graph = graph();
    let (mut done, mut stalled, mut crashes) = (0, 0, 0);
    for seed in seeds.clone() {
        let takes = (1_000, 20 * 60_000);
        let outcome = simulate_run(
            graph.clone(),
            OrchestrationLimits::default(),
            &rules(),
            FailureOdds::BAD,
            takes,
            seed,
        );
        let outcome = outcome.unwrap();
        let replay = format!(
            "BOWLINE_SIM_SEED={seed} cargo nextest run -p bowline-runner whatever_goes_wrong"
        );
        assert_eq!(outcome.wrong, Vec::<String>::new(), "replay: {replay}");
        match outcome.ended {
            RunOutcome::AllDone => {
                done += 1;
                assert_eq!(
                    outcome.run.count_status(NodeStatus::Completed),
                    24,
                    "replay: {replay}"
                );
            }
            RunOutcome::Stalled => {
                stalled += 1;
                assert!(
                    outcome.run.count_status(NodeStatus::Failed) > 0,
                    "replay: {replay}"
                );
            }
            other @ (RunOutcome::Stuck { .. } | RunOutcome::Left) => {
                panic!("{other:?}, replay: {replay}")
            }
        }
        crashes += outcome.crashes;
    }
    if seeds.end - seeds.start == SEEDS {
        // A simulation in which nothing happens proves nothing.
        assert!(
            done > 0 && stalled > 0 && crashes > SEEDS,
            "{done} {stalled} {crashes}"
        );
    }
}

#[test]
fn stacked_tasks_land_behind_what_they_were_begun_on_whatever_goes_wrong() {
    let graph = graph();
    let stacked = RunRules {
        stack: true,
        ..rules()
    };
    let (mut done, mut took) = (0, [0, 0]);
    for seed in 0..SEEDS {
        let takes = (1_000, 20 * 60_000);
        let runs = [&stacked, &rules()].map(|rules| {
            simulate_run(
                graph.clone(),
                OrchestrationLimits::default(),
                rules,
                FailureOdds::BAD,
                takes,
                seed,
            )
            .unwrap()
        });
        let outcome = &runs[0];
        assert_eq!(outcome.wrong, Vec::<String>::new(), "seed {seed}");
        assert!(
            matches!(outcome.ended, RunOutcome::AllDone | RunOutcome::Stalled),
            "seed {seed}: {:?}",
            outcome.ended
        );
        done += u64::from(outcome.ended == RunOutcome::AllDone);
        for (sum, run) in took.iter_mut().zip(&runs) {
            *sum += run.took_ms;
        }
    }
    // Nobody waits for a landing: that saves time, or it would not be worth it.
    assert!(done > 0 && took[0] < took[1], "{done} {took:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let once = || {
        let odds = FailureOdds::BAD;
        simulate_run(
            graph(),
            OrchestrationLimits::default(),
            &rules(),
            odds,
            (1, 9_000),
            42,
        )
        .unwrap()
    };
    let (one, other) = (once(), once());
    assert_eq!((one.took_ms, one.attempts), (other.took_ms, other.attempts));
    assert_eq!(one.run, other.run);
}

#[test]
fn without_trouble_every_task_takes_one_attempt() {
    let odds = FailureOdds::NONE;
    let outcome = simulate_run(
        graph(),
        OrchestrationLimits::default(),
        &rules(),
        odds,
        (1, 9_000),
        7,
    )
    .unwrap();
    assert_eq!(outcome.ended, RunOutcome::AllDone);
    assert_eq!(outcome.attempts, 24);
}

/// The world of the simulation counts every agent that is begun: crashes and new conductors change
/// nothing about the hour.
#[test]
fn the_starts_of_an_hour_are_limited_over_crashes() {
    let graph = graph();
    let mut limited = rules();
    limited.breakers.starts_per_hour = Some(5);
    let (mut done, mut crashes) = (0, 0);
    for seed in 0..SEEDS / 4 {
        let takes = (1_000, 60_000);
        let config = OrchestrationLimits::default();
        let outcome = simulate_run(
            graph.clone(),
            config,
            &limited,
            FailureOdds::BAD,
            takes,
            seed,
        )
        .unwrap();
        assert_eq!(outcome.wrong, Vec::<String>::new(), "seed {seed}");
        if outcome.ended == RunOutcome::AllDone {
            done += 1;
            assert!(outcome.took_ms >= 4 * 60 * 60 * 1_000, "seed {seed}");
        }
        crashes += outcome.crashes;
    }
    assert!(done > 0 && crashes > SEEDS / 4, "{done} {crashes}");
}
