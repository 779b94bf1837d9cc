//! Landings come one after the other. Which comes first is ordered by what is known of overlaps; nobody is kept from working.

use super::super::note::Stage;
use super::super::ports::{Job, Overlap, Ports, Told};
use super::*;

impl Conductor {
    /// A task is ready to land.
    pub(super) fn line_up(&mut self, ports: &mut impl Ports, id: &Id) {
        if !self.queue.contains(id) {
            self.queue.push(id.clone());
        }
        self.land_next(ports);
    }

    /// Lands those that are in the way of the fewest others; of these, those that came first.
    pub(super) fn land_next(&mut self, ports: &mut impl Ports) {
        let flights = &self.flights;
        self.queue.retain(|id| {
            let flight = flights.get(id);
            flight.is_some_and(|flight| flight.note.stage == Stage::Landing)
        });
        while self.landing.len() < self.rules.landings_max {
            let meets = |id: &Id| {
                let with = |(one, other): &&(Id, Id)| one == id || other == id;
                self.overlaps.iter().filter(with).count()
            };
            // What it was begun on lands before it, and an earlier landing of its own comes to its end.
            let may = |id: &Id| !self.landing.contains(id) && ports.run().open_needs(id).is_empty();
            let first = self.queue.iter().enumerate().filter(|(_, id)| may(id));
            let Some((at, _)) = first.min_by_key(|(_, id)| meets(id)) else {
                return;
            };
            let id = self.queue.remove(at);
            self.landing.insert(id.clone());
            ports.ask(Job::Land { id });
        }
    }

    /// Has looked at what a task has changed so far, where others are at work too.
    pub(super) fn look_ahead(&self, ports: &mut impl Ports, id: &Id) {
        let worked = |flight: &Flight| flight.note.attempt > 0;
        let others = self.flights.iter().filter(|(_, flight)| worked(flight));
        let others = others.map(|(other, _)| other).filter(|other| *other != id);
        let others: Vec<Id> = others.cloned().collect();
        if !others.is_empty() {
            let id = id.clone();
            ports.ask(Job::Forecast { id, others });
        }
    }

    pub(super) fn forecast(&mut self, ports: &mut impl Ports, id: &Id, overlaps: Vec<Overlap>) {
        let known = self.overlaps_of(id);
        self.overlaps
            .retain(|(one, other)| one != id && other != id);
        for overlap in overlaps {
            // Either may have landed or failed while it was looked at.
            if !self.flights.contains_key(id) || !self.flights.contains_key(&overlap.with) {
                continue;
            }
            let news = !known.contains(&overlap.with);
            self.overlaps.insert(pair(id, &overlap.with));
            if news {
                let id = id.clone();
                ports.tell(Told::Overlap { id, overlap });
            }
        }
    }

    fn overlaps_of(&self, id: &Id) -> BTreeSet<Id> {
        let of = |(one, other): &(Id, Id)| {
            if one == id {
                return Some(other.clone());
            }
            (other == id).then(|| one.clone())
        };
        self.overlaps.iter().filter_map(of).collect()
    }

    /// A task is in flight no more.
    pub(super) fn comes_down(&mut self, id: &Id) -> Option<Flight> {
        self.touching.remove(id);
        self.overlaps
            .retain(|(one, other)| one != id && other != id);
        self.flights.remove(id)
    }
}

fn pair(one: &Id, other: &Id) -> (Id, Id) {
    match one <= other {
        true => (one.clone(), other.clone()),
        false => (other.clone(), one.clone()),
    }
}
