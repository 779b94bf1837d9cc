//! Server-sent events: in order, without a gap after a break, and refused when too old.

use crate::fake_job_service::World;
use bowline_engine::machines::Timestamp;
use bowline_server::job_service::JobService as _;
use bowline_store::RetentionLimits;
use serde_json::{Value, json};

fn tasks(world: &World, count: usize) -> Vec<String> {
    let make = |index: usize| {
        let body = json!({"title": format!("T{index}"), "type": "custom", "description": "d", "submit": true});
        let made = world.post("/api/tasks", &body);
        made.json()["id"].as_str().unwrap().to_owned()
    };
    (0..count).map(make).collect()
}

/// Events behind a number, until there are `count` that are kept.
fn events(world: &World, path: &str, since: u64, count: usize) -> Vec<(u64, Value)> {
    let mut all = Vec::new();
    let ended = world
        .person()
        .stream_events(path, Some(since), |name, id, data| {
            let data: Value = serde_json::from_str(data).unwrap();
            if name != "hello" {
                assert_eq!(data["type"], name);
                all.push((id.unwrap(), data));
            }
            all.len() < count
        });
    assert!(ended.unwrap().is_none());
    all
}

#[test]
fn nothing_is_missed_after_a_break() {
    let world = World::new();
    let ids = tasks(&world, 3);
    let all = events(&world, "/api/events", 0, 3);
    let numbers: Vec<u64> = all.iter().map(|(id, _)| *id).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(all[0].1["data"]["trigger"], "SUBMIT");
    assert_eq!(all[0].1["data"]["sequence"], 1);
    let rest = events(&world, "/api/events", 2, 1);
    assert_eq!((rest[0].0, rest[0].1["taskId"].clone()), (3, json!(ids[2])));
    let one = events(&world, &format!("/api/tasks/{}/events", ids[1]), 0, 1);
    assert_eq!(one[0].0, 2);
}

#[test]
fn what_happens_while_somebody_listens_is_told() {
    let world = World::new();
    let client = world.person();
    let (heard, hears) = std::sync::mpsc::channel();
    let listening = std::thread::spawn(move || {
        client.stream_events("/api/events", None, |name, _, data| {
            heard.send((name.to_owned(), data.to_owned())).unwrap();
            name == "hello"
        })
    });
    assert_eq!(hears.recv().unwrap().0, "hello");
    tasks(&world, 1);
    assert_eq!(hears.recv().unwrap().0, "transition");
    listening.join().unwrap().unwrap();
}

#[test]
fn what_is_not_kept_any_more_is_said() {
    let world = World::new();
    let ids = tasks(&world, 3);
    for id in &ids {
        world.post(&format!("/api/tasks/{id}/cancel"), &json!({}));
        let gone = world
            .person()
            .send_request("DELETE", &format!("/api/tasks/{id}"), None, &[]);
        assert!(gone.unwrap().status < 300);
    }
    let kept = RetentionLimits {
        events: 1,
        requests: 0,
        request_bytes: u64::MAX,
        requests_from: Timestamp(0),
        requests_until: Timestamp(0),
        effects_from: None,
    };
    world.job_service.store().prune_rows(&kept).unwrap();
    tasks(&world, 1);
    let (oldest, _) = world.job_service.store().feed_range().unwrap();
    assert!(oldest > 1, "the store forgot nothing");
    let answer = world
        .person()
        .stream_events("/api/events", Some(0), |_, _, _| true)
        .unwrap()
        .unwrap();
    assert_eq!(answer.status, 410);
    assert_eq!(answer.json()["error"]["code"], "event_gone");
    assert_eq!(answer.json()["error"]["oldest"], oldest);
}
