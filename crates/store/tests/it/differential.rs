//! The same random steps on the model and on a file: the same answers, and the same to be read afterwards.

use crate::{NOON, about, draft, effect, event, submitted};
use bowline_machines::Timestamp;
use bowline_machines::job::TaskStatus;
use bowline_store::{
    Advance, Change, EffectEnd, EventQuery, JobQuery, Memory, Next, Record, RecordBody,
    RecordQuery, Request, Retention, SaidRow, Settle, SpendQuery, Spent, Sqlite, Store,
    TimerChange,
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

fn any_change() -> impl Strategy<Value = Change> {
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
            let mut change = Change::to(job, expected, state, about(NOON.0 + i64::from(sort)));
            match sort {
                6 => change.next = Next::Gone,
                7 => change.next = Next::Same,
                _ => {}
            }
            change.events = events.iter().map(|text| event(text)).collect();
            change.effects = effects.iter().map(|kind| effect(kind)).collect();
            change.timers = timers;
            change.spent = spent.map(|(tokens, agent)| Spent {
                agent,
                tokens,
                usd: 0.1,
            });
            // What is gone has nothing that belongs to it.
            if change.next == Next::Gone {
                (change.effects, change.timers) = (Vec::new(), Vec::new());
            } else if let Some((number, open)) = said {
                change.records.push(Record {
                    id: format!("say_{number}"),
                    job: job.into(),
                    open,
                    at: Timestamp(number),
                    body: RecordBody::Said(SaidRow::default()),
                });
            }
            change
        },
    )
}

fn any_step() -> impl Strategy<Value = Advance> {
    let end = prop_oneof![
        Just(EffectEnd::Done),
        "[a-z]{3}".prop_map(|note| EffectEnd::Delivered { note }),
        "[a-z]{3}".prop_map(|note| EffectEnd::GivenUp { note }),
        "[a-z]{3}".prop_map(|note| EffectEnd::Again {
            due: Timestamp(7),
            note
        }),
    ];
    let settle = (1u64..8, end).prop_map(|(effect, end)| Settle { effect, end });
    let request = (0u8..6, 0u8..2).prop_map(|(id, print)| Request {
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
        Advance {
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
        store.jobs(&all).unwrap(),
        store.jobs(&pending).unwrap(),
        store.open_jobs().unwrap(),
        store.counts().unwrap(),
        store.records(&RecordQuery::default()).unwrap(),
        store.records(&open).unwrap(),
        store.events(&EventQuery::default()).unwrap(),
        store.feed().unwrap(),
        store.effects().unwrap(),
        store.timers().unwrap(),
        store.spend(&SpendQuery::default()).unwrap(),
    );
    for job in JOBS {
        let of = (
            store.dependents(job).unwrap(),
            store.deliveries(job).unwrap(),
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
        let model = Memory::new();
        let mut file = Sqlite::open(&path).unwrap();
        for (index, steps) in batches.into_iter().enumerate() {
            let expected = model.advance(steps.clone()).unwrap();
            prop_assert_eq!(file.advance(steps).unwrap(), expected);
            if let Some((at, before)) = prune && at == index {
                let kept = Retention {
                    events: before.unsigned_abs() % 7,
                    requests: before.unsigned_abs() % 3,
                    request_bytes: before.unsigned_abs() % 97,
                    requests_from: Timestamp(before - 10),
                    requests_until: Timestamp(before),
                    effects_from: (before % 2 == 0).then_some(Timestamp(before)),
                };
                prop_assert_eq!(file.prune(&kept).unwrap(), model.prune(&kept).unwrap());
            }
            if index % 5 == 4 {
                drop(file);
                file = Sqlite::open(&path).unwrap();
            }
        }
        prop_assert_eq!(everything(&file), everything(&model));
    }
}
