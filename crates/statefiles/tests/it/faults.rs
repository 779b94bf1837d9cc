//! The n-th disk operation fails, for every n until none fails.

use std::sync::Arc;

use bowline_statefiles::{Disk, StateFileError};
use bowline_test_support::{DiskFault, FaultyDisk};

use crate::scenario::{self, Scenario, Told};
use crate::support::Place;

/// How long a disk fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    Once,
    Twice,
    ForGood,
}

fn fail_everywhere(scenario: &Scenario, fault: DiskFault, length: Length, plain: bool) -> u64 {
    for at in 1.. {
        let place = Place::new();
        (scenario.prepare)(place.folder.path());
        let mut disk = FaultyDisk::new(at, fault, length == Length::ForGood);
        if length == Length::Twice {
            disk = disk.in_a_row(2);
        }
        if plain {
            disk = disk.without_modern_operations();
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
            "operation {at} ({:?}) {fault:?}, {length:?}, plain {plain}: {:?}",
            disk.failed_operation(),
            done.as_ref().err()
        );
        let told = match &done {
            Ok(()) => Told::Done,
            Err(error @ StateFileError::Unfinished { .. }) => {
                assert!(std::error::Error::source(error).is_some(), "{context}");
                Told::Committed
            }
            Err(error) if error.may_be_committed() => Told::Perhaps,
            Err(_) => Told::Nothing,
        };
        scenario::check_after(
            place.folder.path(),
            scenario,
            acknowledged.as_deref(),
            told,
            plain,
            &context,
        );
        if disk.failed_operation().is_none() {
            done.unwrap();
            return at - 1;
        }
    }
    unreachable!("the loop ends when nothing fails any more")
}

fn every_operation_failing_once_or_for_good(scenario: &Scenario) {
    for plain in [false, true] {
        for length in [Length::Once, Length::Twice, Length::ForGood] {
            for fault in [DiskFault::Io, DiskFault::Full] {
                let operations = fail_everywhere(scenario, fault, length, plain);
                assert!(operations > 10, "only {operations} operations");
            }
        }
    }
}

scenario::for_each_scenario!(every_operation_failing_once_or_for_good);
