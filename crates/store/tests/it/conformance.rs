//! What every store does.

use crate::{NOON, about, apply, create, draft, effect, event, every_store, submitted};
use bowline_machines::Timestamp;
use bowline_machines::job::{MessageStatus, TaskStatus};
use bowline_store::{
    AddedSpend, CommitOutcome, EffectResult, EventQuery, IdempotentRequest, JobChange, JobQuery,
    JobRecord, MessageRow, NextJobState, PrunedCounts, RecordBody, RecordKind, RecordQuery,
    RetentionLimits, SettledEffect, SpendQuery, StoreError, StoreStep, TimerChange,
};
use serde_json::json;

fn request(id: &str, print: &str) -> Option<IdempotentRequest> {
    Some(IdempotentRequest {
        id: id.into(),
        print: print.into(),
        answer: json!({ "for": print }),
    })
}

#[test]
fn a_job_is_kept_as_it_was_given_and_counts_its_versions() {
    every_store(|store| {
        apply(store, create("task_a", "Tea"));
        let row = store.find_job("task_a").unwrap().unwrap();
        assert_eq!((row.version, &*row.job), (1, &draft("Tea")));
        assert_eq!(*row.about, about(NOON.0));
        let mut step = StoreStep::empty_at(NOON);
        let next = submitted(&row.job);
        step.changes.push(JobChange::replace_state(
            "task_a",
            1,
            next.clone(),
            about(NOON.0),
        ));
        apply(store, step);
        let row = store.find_job("task_a").unwrap().unwrap();
        assert_eq!((row.version, &*row.job), (2, &next));
        assert_eq!(store.find_job("task_b").unwrap(), None);
        assert_eq!(store.count_by_status().unwrap(), [(TaskStatus::Pending, 1)]);
    });
}

#[test]
fn a_step_decided_on_another_version_changes_nothing_and_hinders_no_other() {
    every_store(|store| {
        apply(store, create("task_a", "Tea"));
        let mut two = StoreStep::empty_at(NOON);
        two.changes.push(JobChange::replace_state(
            "task_b",
            0,
            draft("Cup"),
            about(NOON.0),
        ));
        two.changes.push(JobChange::replace_state(
            "task_a",
            7,
            draft("Pot"),
            about(NOON.0),
        ));
        two.changes[0].events.push(event("never"));
        let outcomes = store
            .commit_steps(vec![two, create("task_a", "Can"), create("task_c", "Jug")])
            .unwrap();
        let conflict = CommitOutcome::Conflict {
            job: "task_a".into(),
            version: 1,
        };
        assert_eq!(outcomes[..2], [conflict.clone(), conflict]);
        assert!(matches!(outcomes[2], CommitOutcome::Applied { .. }));
        assert_eq!(store.find_job("task_b").unwrap(), None);
        assert_eq!(
            *store.find_job("task_a").unwrap().unwrap().job,
            draft("Tea")
        );
        assert!(store.find_job("task_c").unwrap().is_some());
        assert_eq!(store.feed_range().unwrap(), (0, 0));
    });
}

#[test]
fn steps_that_are_handed_over_are_applied_in_their_order() {
    every_store(|store| {
        let (ready, heard) = std::sync::mpsc::channel();
        let wake = Box::new(move || ready.send(()).unwrap());
        let mut first = store.begin_commit(vec![create("task_a", "Tea")], wake);
        let mut step = StoreStep::empty_at(NOON);
        let next = submitted(&draft("Tea"));
        step.changes
            .push(JobChange::replace_state("task_a", 1, next, about(NOON.0)));
        let mut second = store.begin_commit(vec![step], Box::new(|| {}));
        let applied = |answer: Option<Result<Vec<CommitOutcome>, StoreError>>| {
            matches!(
                answer.unwrap().unwrap()[..],
                [CommitOutcome::Applied { .. }]
            )
        };
        assert!(applied(second(true)));
        heard.recv().unwrap();
        assert!(applied(first(false)));
        assert_eq!(store.find_job("task_a").unwrap().unwrap().version, 2);
    });
}

#[test]
fn a_request_is_applied_once_and_answered_the_same_for_ever() {
    every_store(|store| {
        let mut step = create("task_a", "Tea");
        step.request = request("r-1", "make tea");
        apply(store, step.clone());
        let again = store.commit_steps(vec![step.clone()]).unwrap();
        let answer = json!({ "for": "make tea" });
        assert_eq!(
            again,
            [CommitOutcome::AlreadyApplied {
                answer: answer.clone()
            }]
        );
        step.request = request("r-1", "make coffee");
        assert_eq!(
            store.commit_steps(vec![step]).unwrap(),
            [CommitOutcome::RequestReused]
        );
        assert_eq!(store.stored_response("r-1").unwrap(), Some(answer));
        assert_eq!(store.stored_response("r-2").unwrap(), None);
        assert_eq!(store.find_job("task_a").unwrap().unwrap().version, 1);
    });
}

#[test]
fn events_have_one_rising_number_over_all_jobs() {
    every_store(|store| {
        for (id, words) in [("task_a", vec!["one", "two"]), ("task_b", vec!["three"])] {
            let mut step = create(id, id);
            step.changes[0].events = words.into_iter().map(event).collect();
            apply(store, step);
        }
        let texts = |wanted: &EventQuery| -> Vec<(u64, String)> {
            let rows = store.list_events(wanted).unwrap();
            let text = |row: bowline_store::EventRow| {
                (row.sequence, row.body["text"].as_str().unwrap().to_owned())
            };
            rows.into_iter().map(text).collect()
        };
        let everything = [(1, "one"), (2, "two"), (3, "three")].map(|(n, t)| (n, t.to_owned()));
        assert_eq!(texts(&EventQuery::default()), everything);
        let of_a = EventQuery {
            job: Some("task_a".into()),
            after: 1,
            ..EventQuery::default()
        };
        assert_eq!(texts(&of_a), everything[1..2]);
        let first = EventQuery {
            limit: 1,
            ..EventQuery::default()
        };
        assert_eq!(texts(&first), everything[..1]);
        assert_eq!(store.feed_range().unwrap(), (1, 3));
    });
}

#[test]
fn an_effect_is_open_until_it_is_settled_and_its_tries_are_kept() {
    every_store(|store| {
        let mut step = create("task_a", "Tea");
        step.changes[0].effects = vec![effect("spawn"), effect("notify")];
        let CommitOutcome::Applied { effects, .. } = apply(store, step) else {
            panic!("applied");
        };
        assert_eq!(store.open_effects().unwrap(), effects);
        let later = Timestamp(NOON.0 + 30);
        let settle = |effect: u64, end: EffectResult| StoreStep {
            settled: vec![SettledEffect { effect, end }],
            ..StoreStep::empty_at(later)
        };
        apply(store, settle(effects[0].id, EffectResult::Done));
        let note = "503".to_owned();
        let again = |effect: u64| {
            let (due, note) = (later, note.clone());
            settle(effect, EffectResult::Again { due, note })
        };
        apply(store, again(effects[1].id));
        let open = store.open_effects().unwrap();
        assert_eq!(open.len(), 1);
        assert_eq!((open[0].tries, open[0].due), (1, later));
        apply(
            store,
            settle(
                effects[1].id,
                EffectResult::Delivered { note: "200".into() },
            ),
        );
        // Whoever comes late with an older try opens nothing again.
        apply(store, again(effects[0].id));
        apply(store, again(effects[1].id));
        assert_eq!(store.open_effects().unwrap(), []);
        let told: Vec<(u32, String)> = store
            .deliveries_of("task_a")
            .unwrap()
            .into_iter()
            .map(|row| (row.try_number, row.note))
            .collect();
        assert_eq!(told, [(1, note), (2, "200".into())]);
    });
}

#[test]
fn a_timer_fires_once_and_only_as_it_was_set() {
    every_store(|store| {
        let set = |due: i64| TimerChange::Set {
            key: "limit".into(),
            due: Timestamp(due),
            body: json!("over"),
        };
        let mut step = create("task_a", "Tea");
        step.changes[0].timers.push(set(NOON.0 + 60));
        apply(store, step);
        let mut anew = StoreStep::empty_at(NOON);
        anew.changes.push(JobChange::replace_state(
            "task_a",
            1,
            draft("Tea"),
            about(NOON.0),
        ));
        anew.changes[0].timers.push(set(NOON.0 + 90));
        apply(store, anew);
        let timers = store.list_timers().unwrap();
        assert_eq!(timers.len(), 1);
        assert_eq!((timers[0].generation, timers[0].due.0), (2, NOON.0 + 90));
        let fire = |expected: u64, generation: u64| {
            let mut step = StoreStep::empty_at(NOON);
            let mut change =
                JobChange::replace_state("task_a", expected, draft("Tea"), about(NOON.0));
            change.timers.push(TimerChange::Fired {
                key: "limit".into(),
                generation,
            });
            step.changes.push(change);
            store.commit_steps(vec![step]).unwrap().remove(0)
        };
        assert!(matches!(
            fire(2, 1),
            CommitOutcome::Conflict { version: 2, .. }
        ));
        assert!(matches!(fire(2, 2), CommitOutcome::Applied { .. }));
        assert!(matches!(
            fire(3, 2),
            CommitOutcome::Conflict { version: 3, .. }
        ));
        assert_eq!(store.list_timers().unwrap(), []);
    });
}

fn said(id: &str, at: i64, open: bool) -> JobRecord {
    JobRecord {
        id: id.into(),
        job: "task_a".into(),
        open,
        at: Timestamp(at),
        body: RecordBody::Said(MessageRow {
            text: id.into(),
            status: MessageStatus::Queued,
            settled_at: None,
        }),
    }
}

#[test]
fn rows_are_found_by_id_job_kind_and_whether_a_person_is_waited_for() {
    every_store(|store| {
        let mut step = create("task_a", "Tea");
        step.changes[0].records = vec![said("say_2", 2, true), said("say_1", 1, false)];
        apply(store, step);
        let ids = |wanted: RecordQuery| -> Vec<String> {
            let rows = store.list_records(&wanted).unwrap();
            rows.into_iter().map(|row| row.id).collect()
        };
        let of_a = RecordQuery {
            job: Some("task_a".into()),
            ..RecordQuery::default()
        };
        assert_eq!(ids(of_a.clone()), ["say_1", "say_2"]);
        assert_eq!(ids(RecordQuery { open: true, ..of_a }), ["say_2"]);
        let reviews = RecordQuery {
            kind: Some(RecordKind::Review),
            ..RecordQuery::default()
        };
        assert_eq!(ids(reviews), Vec::<String>::new());
        assert_eq!(
            store.find_record("say_1").unwrap(),
            Some(said("say_1", 1, false))
        );
        let mut change = JobChange::keep_state("task_a", 1);
        change.records.push(said("say_2", 2, false));
        let mut step = StoreStep::empty_at(NOON);
        step.changes.push(change);
        apply(store, step);
        assert_eq!(
            store.find_record("say_2").unwrap(),
            Some(said("say_2", 2, false))
        );
        assert_eq!(store.find_job("task_a").unwrap().unwrap().version, 1);
    });
}

#[test]
fn a_removed_job_leaves_its_events_only() {
    every_store(|store| {
        let mut step = create("task_a", "Tea");
        let change = &mut step.changes[0];
        change.events.push(event("made"));
        change.effects.push(effect("spawn"));
        change.records.push(said("say_1", 1, true));
        change.timers.push(TimerChange::Set {
            key: "limit".into(),
            due: NOON,
            body: json!(null),
        });
        apply(store, step);
        let mut change = JobChange::replace_state("task_a", 1, draft("Tea"), about(NOON.0));
        change.next = NextJobState::Gone;
        change.events.push(event("gone"));
        let mut step = StoreStep::empty_at(NOON);
        step.changes.push(change);
        apply(store, step);
        assert_eq!(store.find_job("task_a").unwrap(), None);
        assert_eq!(store.open_effects().unwrap(), []);
        assert_eq!(store.list_timers().unwrap(), []);
        assert_eq!(store.find_record("say_1").unwrap(), None);
        assert_eq!(store.feed_range().unwrap(), (1, 2));
    });
}

#[test]
fn lists_are_by_age_and_can_be_cut_filtered_and_gone_on_with() {
    every_store(|store| {
        for (index, title) in ["Tea", "Cup", "Tin"].into_iter().enumerate() {
            let mut step = StoreStep::empty_at(NOON);
            let mut known = about(NOON.0 + i64::try_from(index).unwrap());
            known.label = (index == 1).then(|| "shelf".into());
            let id = format!("task_{index}");
            step.changes
                .push(JobChange::replace_state(id, 0, draft(title), known));
            apply(store, step);
        }
        let titles = |wanted: &JobQuery| -> Vec<String> {
            let rows = store.list_jobs(wanted).unwrap();
            rows.into_iter().map(|row| row.job.title.clone()).collect()
        };
        let every = JobQuery::default();
        assert_eq!(titles(&every), ["Tin", "Cup", "Tea"]);
        let cut = JobQuery {
            limit: 2,
            ..every.clone()
        };
        assert_eq!(titles(&cut), ["Tin", "Cup"]);
        let rest = JobQuery {
            after: Some((Timestamp(NOON.0 + 1), "task_1".into())),
            ..every.clone()
        };
        assert_eq!(titles(&rest), ["Tea"]);
        let text = JobQuery {
            text: Some("TI".into()),
            ..every.clone()
        };
        assert_eq!(titles(&text), ["Tin"]);
        let label = JobQuery {
            label: Some("shelf".into()),
            ..every
        };
        assert_eq!(titles(&label), ["Cup"]);
        let open: Vec<String> = store
            .open_jobs()
            .unwrap()
            .into_iter()
            .map(|row| row.job.title.clone())
            .collect();
        assert_eq!(open, ["Tea", "Cup", "Tin"]);
    });
}

/// Keeps everything.
const ALL: RetentionLimits = RetentionLimits {
    events: u64::MAX,
    requests: u64::MAX,
    request_bytes: u64::MAX,
    requests_from: Timestamp(0),
    requests_until: Timestamp(0),
    effects_from: None,
};

#[test]
fn settled_effects_are_deleted_and_open_ones_are_not() {
    every_store(|store| {
        let mut step = create("task_a", "Tea");
        step.changes[0].effects = vec![effect("spawn"), effect("notify")];
        apply(store, step);
        let done = StoreStep {
            settled: vec![SettledEffect {
                effect: 1,
                end: EffectResult::Done,
            }],
            ..StoreStep::empty_at(NOON)
        };
        apply(store, done);
        let from = |at| RetentionLimits {
            effects_from: Some(at),
            ..ALL
        };
        assert_eq!(
            store.prune_rows(&from(NOON)).unwrap(),
            PrunedCounts::default()
        );
        let pruned = store.prune_rows(&from(Timestamp(NOON.0 + 1))).unwrap();
        assert_eq!(pruned.effects, 1);
        assert_eq!(store.open_effects().unwrap().len(), 1);
    });
}

#[test]
fn effects_of_a_removed_job_are_deleted_once_they_are_settled() {
    every_store(|store| {
        apply(store, create("task_a", "Tea"));
        let mut gone = JobChange::replace_state("task_a", 1, draft("Tea"), about(NOON.0));
        gone.next = NextJobState::Gone;
        gone.effects = vec![effect("clean_up"), effect("notify")];
        let mut step = StoreStep::empty_at(NOON);
        step.changes.push(gone);
        apply(store, step);
        let settle = |effect, end| StoreStep {
            settled: vec![SettledEffect { effect, end }],
            ..StoreStep::empty_at(NOON)
        };
        let note = || "no answer".to_owned();
        let later = Timestamp(NOON.0 + 1);
        let again = EffectResult::Again {
            due: later,
            note: note(),
        };
        apply(store, settle(2, again));
        assert_eq!(store.open_effects().unwrap().len(), 2);
        apply(store, settle(1, EffectResult::Done));
        apply(store, settle(2, EffectResult::GivenUp { note: note() }));
        assert_eq!(store.open_effects().unwrap(), []);
        assert_eq!(store.deliveries_of("task_a").unwrap(), []);
        let everything_settled = RetentionLimits {
            effects_from: Some(later),
            ..ALL
        };
        let pruned = store.prune_rows(&everything_settled).unwrap();
        assert_eq!(pruned.effects, 0, "nothing is left for the pruning");
    });
}

#[test]
fn old_events_of_removed_jobs_are_deleted_and_the_feed_says_from_where_it_is_whole() {
    every_store(|store| {
        for (id, title) in [("task_a", "Tea"), ("task_b", "Cup")] {
            let mut step = create(id, title);
            step.changes[0].events = vec![event("made"), event("seen")];
            apply(store, step);
        }
        let remove = |id: &str| {
            let mut gone = JobChange::replace_state(id, 1, draft("Tea"), about(NOON.0));
            gone.next = NextJobState::Gone;
            gone.events.push(event("gone"));
            let mut step = StoreStep::empty_at(NOON);
            step.changes.push(gone);
            apply(store, step);
        };
        remove("task_a");
        let numbers = |job: Option<&str>| -> Vec<u64> {
            let wanted = EventQuery {
                job: job.map(str::to_owned),
                ..EventQuery::default()
            };
            let events = store.list_events(&wanted).unwrap();
            events.into_iter().map(|it| it.sequence).collect()
        };
        assert_eq!(store.feed_range().unwrap(), (1, 5));
        let kept = RetentionLimits { events: 2, ..ALL };
        assert_eq!(store.prune_rows(&kept).unwrap().events, 2);
        assert_eq!(store.feed_range().unwrap(), (4, 5));
        assert_eq!(numbers(Some("task_b")), [3, 4], "a job keeps its history");
        assert_eq!(store.prune_rows(&kept).unwrap().events, 0);
        remove("task_b");
        assert_eq!(numbers(None), [4, 5, 6], "and takes what is old with it");
        assert_eq!(store.feed_range().unwrap(), (4, 6));
    });
}

#[test]
fn answers_to_requests_are_kept_by_number_bytes_and_age() {
    every_store(|store| {
        for (index, id) in ["r-1", "r-2", "r-3", "r-4"].into_iter().enumerate() {
            let mut step = create(&format!("task_{index}"), "Tea");
            step.at = Timestamp(NOON.0 + index as i64);
            step.request = request(id, "make tea");
            apply(store, step);
        }
        let known = || -> Vec<&str> {
            let all = ["r-1", "r-2", "r-3", "r-4"].into_iter();
            all.filter(|id| store.stored_response(id).unwrap().is_some())
                .collect()
        };
        let at = |seconds| Timestamp(NOON.0 + seconds);
        let old = RetentionLimits {
            requests_from: at(1),
            ..ALL
        };
        assert_eq!(store.prune_rows(&old).unwrap().requests, 1);
        assert_eq!(known(), ["r-2", "r-3", "r-4"]);
        let many = RetentionLimits {
            requests: 1,
            requests_until: at(2),
            ..ALL
        };
        assert_eq!(store.prune_rows(&many).unwrap().requests, 1);
        assert_eq!(known(), ["r-3", "r-4"], "a young one stays");
        let answer = store.stored_response("r-4").unwrap().unwrap().to_string();
        let large = |request_bytes| RetentionLimits {
            request_bytes,
            requests_until: at(4),
            ..ALL
        };
        let two = 2 * answer.len() as u64;
        assert_eq!(store.prune_rows(&large(two)).unwrap().requests, 0);
        assert_eq!(store.prune_rows(&large(two - 1)).unwrap().requests, 1);
        assert_eq!(known(), ["r-4"]);
    });
}

#[test]
fn whoever_depends_on_a_job_is_known() {
    every_store(|store| {
        apply(store, create("task_a", "Tea"));
        let mut job = draft("Cup");
        job.depends_on = vec!["task_a".into()];
        let mut step = StoreStep::empty_at(NOON);
        step.changes
            .push(JobChange::replace_state("task_b", 0, job, about(NOON.0)));
        apply(store, step);
        assert_eq!(store.dependents_of("task_a").unwrap(), ["task_b"]);
        assert_eq!(store.dependents_of("task_b").unwrap(), Vec::<String>::new());
    });
}

#[test]
fn what_was_used_is_added_up_by_day_and_agent_and_outlives_its_job() {
    every_store(|store| {
        apply(store, create("task_a", "Tea"));
        let later = Timestamp(NOON.0 + 86_400);
        let uses = [
            (NOON, "claude", 100, 0.5),
            (NOON, "claude", 20, 0.25),
            (NOON, "codex", 7, 0.0),
            (later, "claude", 1, 0.125),
        ];
        for (version, (at, agent, tokens, usd)) in (1..).zip(uses) {
            let mut step = StoreStep::empty_at(at);
            let mut change =
                JobChange::replace_state("task_a", version, draft("Tea"), about(NOON.0));
            change.spent = Some(AddedSpend {
                agent: agent.into(),
                tokens,
                usd,
            });
            step.changes.push(change);
            apply(store, step);
        }
        let read = |wanted: SpendQuery| -> Vec<(i64, String, u64, f64)> {
            let rows = store.list_spend(&wanted).unwrap();
            assert!(rows.iter().all(|row| row.job == "task_a"));
            let told = |row: bowline_store::SpendRow| (row.day, row.agent, row.tokens, row.usd);
            rows.into_iter().map(told).collect()
        };
        let day = bowline_store::day_of(NOON);
        let all = [
            (day, "claude".to_owned(), 120, 0.75),
            (day, "codex".to_owned(), 7, 0.0),
            (day + 1, "claude".to_owned(), 1, 0.125),
        ];
        assert_eq!(read(SpendQuery::default()), all);
        let newer = SpendQuery {
            from_day: Some(day + 1),
            ..SpendQuery::default()
        };
        assert_eq!(read(newer), all[2..]);
        let mut step = StoreStep::empty_at(later);
        let mut gone = JobChange::replace_state("task_a", 5, draft("Tea"), about(NOON.0));
        gone.next = NextJobState::Gone;
        step.changes.push(gone);
        apply(store, step);
        let of_it = SpendQuery {
            job: Some("task_a".into()),
            ..SpendQuery::default()
        };
        assert_eq!(read(of_it), all);
    });
}
