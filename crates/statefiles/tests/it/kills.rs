//! A process is killed at the n-th disk operation, for every n until it survives.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Arc;

use bowline_test_support::{DiskFault, FaultyDisk};

use crate::children::child;
use crate::scenario::{self, Scenario};
use crate::support::Place;

/// What was acknowledged last, beside the folder under test.
const ACKNOWLEDGED: &str = "acknowledged.txt";

/// In the child: acts until killed.
pub(crate) fn act(folder: &Path, name: &str, at: u64, plain: bool) {
    let scenario = scenario::named(name);
    let disk = FaultyDisk::new(at, DiskFault::Kill, false);
    let disk = Arc::new(if plain {
        disk.without_modern_operations()
    } else {
        disk
    });
    let file = scenario::open(folder, Some(disk.clone()), scenario.journal_bytes_max);
    (scenario.act)(&file, &mut |text| {
        std::fs::write(folder.join(ACKNOWLEDGED), text).unwrap()
    })
    .unwrap();
}

fn kill_everywhere(scenario: &Scenario, plain: bool) {
    let name = scenario.name;
    for at in 1.. {
        let place = Place::new();
        (scenario.prepare)(place.folder.path());
        let part = format!(
            "kill|{name}|{at}|{}",
            if plain { "plain" } else { "modern" }
        );
        let status = child(place.folder.path(), &part).status().unwrap();
        let killed = status.signal() == Some(9);
        assert!(killed || status.success(), "{part}: {status}");
        let acknowledged = std::fs::read_to_string(place.path(ACKNOWLEDGED)).ok();
        let context = format!("killed at operation {at}, plain {plain}");
        scenario::check_after(
            place.folder.path(),
            scenario,
            acknowledged.as_deref(),
            scenario::Told::Perhaps,
            plain,
            &context,
        );
        if !killed {
            assert!(acknowledged.is_some() && at > 10, "{part}");
            return;
        }
    }
}

fn killed_at_every_operation(scenario: &Scenario) {
    kill_everywhere(scenario, false);
    kill_everywhere(scenario, true);
}

scenario::for_each_scenario!(killed_at_every_operation);
