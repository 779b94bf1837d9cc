//! A hash index of task ids.
//!
//! A search in sorted ids would touch a score of places all over the memory of a large run, on
//! every command. The map of the standard library is not used, as its order is random; this one is
//! the same for the same ids.

use super::Id;

/// The mark of a slot that holds no task.
const FREE: u32 = u32::MAX;

/// The numbers of tasks in an open-addressing table with linear probing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Index {
    /// The slots: a power of two, at least twice as many as there are tasks, so that free ones are
    /// near.
    places: Vec<u32>,
}

impl Index {
    /// Makes the index of ids, numbered in their order; fails with the number of the first repeated
    /// id.
    pub(super) fn new(ids: &[Id]) -> Result<Self, u32> {
        let mut index = Index {
            places: vec![FREE; (2 * ids.len()).next_power_of_two()],
        };
        for (node, id) in (0u32..).zip(ids) {
            let place = index.place(ids, id);
            if index.places[place] != FREE {
                return Err(node);
            }
            index.places[place] = node;
        }
        Ok(index)
    }

    /// Returns the number of the task with that id.
    pub(super) fn find(&self, ids: &[Id], id: &str) -> Option<u32> {
        let node = self.places[self.place(ids, id)];
        (node != FREE).then_some(node)
    }

    /// Returns the slot of `id`, or the free slot where it would be. There always is a free one.
    fn place(&self, ids: &[Id], id: &str) -> usize {
        let mask = self.places.len() - 1;
        let mut place = hash(id) & mask;
        while self.places[place] != FREE && *ids[self.places[place] as usize] != *id {
            place = (place + 1) & mask;
        }
        place
    }
}

/// Computes FNV-1a with the upper bits folded into the lower ones, because a small table uses only
/// those.
fn hash(id: &str) -> usize {
    let mut sum: u32 = 0x811c_9dc5;
    for byte in id.bytes() {
        sum = (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    (sum ^ (sum >> 15)) as usize
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

    use super::*;

    fn ids(count: u32) -> Vec<Id> {
        (0..count)
            .map(|n| Id::from(format!("T{}.{}", n / 50, n % 50)))
            .collect()
    }

    #[test]
    fn every_id_is_found_and_no_other() {
        for count in [0, 1, 2, 3, 1_000] {
            let ids = ids(count);
            let index = Index::new(&ids).expect("no id is there twice");
            for (node, id) in (0u32..).zip(&ids) {
                assert_eq!(index.find(&ids, id), Some(node), "{id} of {count}");
            }
            for other in ["", "T", "T99.99", "t0.0"] {
                assert_eq!(index.find(&ids, other), None, "{other} of {count}");
            }
        }
    }

    #[test]
    fn the_second_of_two_same_ids_is_named() {
        let mut twice = ids(10);
        twice.push(twice[4].clone());
        assert_eq!(Index::new(&twice), Err(10));
    }

    #[test]
    fn ids_as_people_write_them_are_found_within_a_few_places() {
        let ids = ids(100_000);
        let index = Index::new(&ids).expect("no id is there twice");
        let mask = index.places.len() - 1;
        let away = |id: &Id| index.place(&ids, id).wrapping_sub(hash(id)) & mask;
        let sum: usize = ids.iter().map(away).sum();
        assert!(sum < ids.len(), "{sum} places in all");
    }
}
