//! The same random steps on the model and on a file: the same answers, and the same to be read
//! afterwards.

use crate::{NOON, about, draft, effect, event, submitted};
use bowline_machines::Timestamp;
use bowline_machines::job::TaskStatus;
use bowline_store::{
    AddedSpend, EffectResult, EventQuery, IdempotentRequest, JobChange, JobQuery, JobRecord,
    MemoryStore, MessageRow, NextJobState, RecordBody, RecordQuery, RetentionLimits, SettledEffect,
    SpendQuery, SqliteStore, Store, StoreStep, TimerChange,
};
use proptest::prelude::*;
use serde_json::json;

const JOBS: [&str; 3] = ["task_a", "task_b", "task_c"];

fn any_timer() -> impl Strategy<Value = TimerChange> {
    prop_oneof![
        3 => (0i64..50, "[kl]").prop_map(|(due, key)| TimerChange::Set {
            key, due: Timestamp(due), body: json!(due)
        }),
        1 => "[kl]".prop_map(|key| TimerChange::Clear { key }),
        2 => (1u64..6, "[kl]").prop_map(|(generation, key)| TimerChange::Fired { key, generation }),
    ]
}

fn any_change() -> impl Strategy<Value = JobChange> {
    let parts = (
        prop::sample::select(JOBS.to_vec()),
        0u64..5,
        0u8..8,
        prop::collection::vec("[a-z]{1,4}", 0..3),
        prop::collection::vec("[a-z]{1,4}", 0..2),
        prop::collection::vec(any_timer(), 0..2),
        prop::option::of((0i64..9, any::<bool>())),
        prop::option::of((0u64..9, "[xy]")),
    );
    parts.prop_map(
        |(job, expected, sort, events, effects, timers, said, spent)| {
            let mut state = draft(&format!("{job} {sort}"));
            if sort % 2 == 0 {
                state = submitted(&state);
            }
            if sort % 3 == 0 {
                state.depends_on = vec![JOBS[0].into()];
            }
            let mut change =
                JobChange::replace_state(job, expected, state, about(NOON.0 + i64::from(sort)));
            match sort {
                6 => change.next = NextJobState::Gone,
                7 => change.next = NextJobState::Same,
                _ => {}
            }
            change.events = events.iter().map(|text| event(text)).collect();
            change.effects = effects.iter().map(|kind| effect(kind)).collect();
            change.timers = timers;
            change.spent = spent.map(|(tokens, agent)| AddedSpend {
                agent,
                tokens,
                usd: 0.1,
            });
            // What is gone has nothing that belongs to it.
            if change.next == NextJobState::Gone {
                (change.effects, change.timers) = (Vec::new(), Vec::new());
            } else if let Some((number, open)) = said {
                change.records.push(JobRecord {
                    id: format!("say_{number}"),
                    job: job.into(),
                    open,
                    at: Timestamp(number),
                    body: RecordBody::Said(MessageRow::default()),
                });
            }
            change
        },
    )
}

fn any_step() -> impl Strategy<Value = StoreStep> {
    let end = prop_oneof![
        Just(EffectResult::Done),
        "[a-z]{3}".prop_map(|note| EffectResult::Delivered { note }),
        "[a-z]{3}".prop_map(|note| EffectResult::GivenUp { note }),
        "[a-z]{3}".prop_map(|note| EffectResult::Again {
            due: Timestamp(7),
            note
        }),
    ];
    let settle = (1u64..8, end).prop_map(|(effect, end)| SettledEffect { effect, end });
    let request = (0u8..6, 0u8..2).prop_map(|(id, print)| IdempotentRequest {
        id: format!("r-{id}"),
        print: print.to_string(),
        answer: json!([id, print]),
    });
    let parts = (
        0i64..40,
        prop::option::weighted(0.3, request),
        prop::collection::vec(any_change(), 0..3),
        prop::collection::vec(settle, 0..2),
    );
    parts.prop_map(|(at, request, mut changes, settled)| {
        // One step moves a job once.
        changes.sort_by(|a, b| a.job.cmp(&b.job));
        changes.dedup_by(|a, b| a.job == b.job);
        StoreStep {
            at: Timestamp(at),
            request,
            changes,
            settled,
        }
    })
}

/// Everything that can be read.
fn everything(store: &dyn Store) -> String {
    let all = JobQuery {
        archived: true,
        ..JobQuery::default()
    };
    let pending = JobQuery {
        status: Some(TaskStatus::Pending),
        limit: 2,
        ..JobQuery::default()
    };
    let open = RecordQuery {
        open: true,
        ..RecordQuery::default()
    };
    let mut told = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
        store.list_jobs(&all).unwrap(),
        store.list_jobs(&pending).unwrap(),
        store.open_jobs().unwrap(),
        store.count_by_status().unwrap(),
        store.list_records(&RecordQuery::default()).unwrap(),
        store.list_records(&open).unwrap(),
        store.list_events(&EventQuery::default()).unwrap(),
        store.feed_range().unwrap(),
        store.open_effects().unwrap(),
        store.list_timers().unwrap(),
        store.list_spend(&SpendQuery::default()).unwrap(),
    );
    for job in JOBS {
        let of = (
            store.dependents_of(job).unwrap(),
            store.deliveries_of(job).unwrap(),
        );
        told.push_str(&format!("{of:?}\n"));
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_file_does_what_the_model_does(
        batches in prop::collection::vec(prop::collection::vec(any_step(), 1..4), 1..14),
        prune in prop::option::of((0usize..14, 0i64..40)),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let model = MemoryStore::new();
        let mut file = SqliteStore::open(&path).unwrap();
        for (index, steps) in batches.into_iter().enumerate() {
            let expected = model.commit_steps(steps.clone()).unwrap();
            prop_assert_eq!(file.commit_steps(steps).unwrap(), expected);
            if let Some((at, before)) = prune && at == index {
                let kept = RetentionLimits {
                    events: before.unsigned_abs() % 7,
                    requests: before.unsigned_abs() % 3,
                    request_bytes: before.unsigned_abs() % 97,
                    requests_from: Timestamp(before - 10),
                    requests_until: Timestamp(before),
                    effects_from: (before % 2 == 0).then_some(Timestamp(before)),
                };
                prop_assert_eq!(file.prune_rows(&kept).unwrap(), model.prune_rows(&kept).unwrap());
            }
            if index % 5 == 4 {
                drop(file);
                file = SqliteStore::open(&path).unwrap();
            }
        }
        prop_assert_eq!(everything(&file), everything(&model));
    }
}
