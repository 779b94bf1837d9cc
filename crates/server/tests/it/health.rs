//! What a server tells of itself while nothing can be decided.

use crate::fake_job_service::World;
use bowline_runner::jobs::Outage;
use bowline_server::job_service::DispatcherHealth;
use bowline_store::Resource;
use serde_json::json;

#[test]
fn a_server_that_cannot_write_is_not_ready_and_says_why() {
    let world = World::new();
    let outage = |resource| Outage {
        resource,
        is_damage: resource.is_none(),
        reason: "the store data/store.sqlite cannot be written".into(),
    };
    let (full, damaged) = (outage(Some(Resource::Disk)), outage(None));
    for (health, is_full) in [
        (DispatcherHealth::Recovering(full), 1),
        (DispatcherHealth::Recovering(damaged.clone()), 0),
        (DispatcherHealth::Failed(damaged), 0),
    ] {
        *world.job_service.health.lock().unwrap() = health;
        let ready = world.get("/readyz");
        let reason = "the store data/store.sqlite cannot be written";
        let told = json!({ "status": "failing", "reason": reason });
        assert_eq!((ready.status, ready.json()), (503, told));
        assert_eq!(world.get("/healthz").status, 200);
        let metrics = world.get("/metrics");
        let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
        for line in [
            "bowline_writes_available 0".to_owned(),
            format!("bowline_disk_full {is_full}"),
        ] {
            assert!(metrics.lines().any(|it| it == line), "{line}: {metrics}");
        }
    }
    *world.job_service.health.lock().unwrap() = DispatcherHealth::Ready;
    let ready = world.get("/readyz");
    assert_eq!(
        (ready.status, ready.json()["status"].clone()),
        (200, json!("ok"))
    );
    let metrics = world.get("/metrics");
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    assert!(
        metrics.contains("\nbowline_writes_available 1\n"),
        "{metrics}"
    );
}
