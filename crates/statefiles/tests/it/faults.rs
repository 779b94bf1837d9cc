//! The n-th disk operation fails, for every n until none fails.

use std::sync::Arc;

use bowline_statefiles::{Disk, Error};
use bowline_test_support::{Fault, FaultyDisk};

use crate::scenario::{self, Scenario};
use crate::support::Place;

fn fail_everywhere(scenario: &Scenario, fault: Fault, lasting: bool, plain: bool) -> u64 {
    for at in 1.. {
        let place = Place::new();
        (scenario.prepare)(place.folder.path());
        let mut disk = FaultyDisk::new(at, fault, lasting);
        if plain {
            disk = disk.plain();
        }
        let disk = Arc::new(disk);
        let file = scenario::open(
            place.folder.path(),
            Some(disk.clone() as Arc<dyn Disk>),
            scenario.journal_bytes_max,
        );
        let mut acknowledged = None;
        let done = (scenario.act)(&file, &mut |text| acknowledged = Some(text.to_owned()));
        let context = format!(
            "operation {at} ({:?}) {fault:?}, lasting {lasting}, plain {plain}: {:?}",
            disk.hit(),
            done.as_ref().err()
        );
        if let Err(Error::Unfinished { .. }) = &done {
            let sources = std::error::Error::source(done.as_ref().unwrap_err());
            assert!(sources.is_some(), "{context}");
        }
        let old_only = done.as_ref().is_err_and(|error| !error.may_be_committed());
        scenario::check_after(
            place.folder.path(),
            scenario,
            acknowledged.as_deref(),
            old_only,
            plain,
            &context,
        );
        if disk.hit().is_none() {
            done.unwrap();
            return at - 1;
        }
    }
    unreachable!("the loop ends when nothing fails any more")
}

fn every_operation_failing_once_or_for_good(scenario: &Scenario) {
    for plain in [false, true] {
        for lasting in [false, true] {
            for fault in [Fault::Io, Fault::Full] {
                let operations = fail_everywhere(scenario, fault, lasting, plain);
                assert!(operations > 10, "only {operations} operations");
            }
        }
    }
}

scenario::for_each_scenario!(every_operation_failing_once_or_for_good);
