//! Reading what agents print, against merely finding the line ends.

use crate::Outcome;
use crate::measure::{Contender, cpu_time, in_turns};
use crate::report::Bound;
use std::hint::black_box;

const MB_PER_S_MIN: f64 = 200.0;
/// What a pipe hands over at once.
pub(crate) const CHUNK_BYTES: usize = 65_536;
pub(crate) const MIX_BYTES: usize = 16_000_000;

/// Says how many events were understood, and how many were not.
type Read = Box<dyn Fn(&[u8]) -> (usize, usize)>;

/// One kind of output, about [`MIX_BYTES`] of it.
pub(crate) struct Mix {
    pub(crate) name: String,
    pub(crate) text: String,
    /// How many events are in it.
    pub(crate) events: usize,
    pub(crate) read: Read,
}

/// A row for each: events per MB, the speed of the floor, and ours; and the bound on the slowest.
pub(crate) fn measured(
    mixes: &[Mix],
    rounds: usize,
    promise: &'static str,
) -> Outcome<(Vec<Vec<String>>, Bound)> {
    let mut rows = Vec::new();
    let mut slowest = f64::INFINITY;
    for mix in mixes {
        let bytes = mix.text.as_bytes();
        let mut contenders: Vec<Contender<'_>> = vec![
            Box::new(|_| {
                let (taken, ends) =
                    cpu_time(|| memchr::memchr_iter(b'\n', black_box(bytes)).count());
                black_box(ends);
                Ok(taken)
            }),
            Box::new(|_| {
                let (taken, (good, bad)) = cpu_time(|| (mix.read)(black_box(bytes)));
                if (good, bad) != (mix.events, 0) {
                    let wanted = mix.events;
                    return Err(
                        format!("{}: {good} good and {bad} bad of {wanted}", mix.name).into(),
                    );
                }
                Ok(taken)
            }),
        ];
        let samples = in_turns(rounds, &mut contenders)?;
        let speed = |at: usize| bytes.len() as f64 / 1e6 / samples[at].median().as_secs_f64();
        slowest = slowest.min(speed(1));
        let per_mb = mix.events as f64 * 1e6 / bytes.len() as f64;
        rows.push(vec![
            mix.name.clone(),
            format!("{per_mb:.0}"),
            format!("{:.0}", speed(0)),
            format!("{:.0}", speed(1)),
        ]);
    }
    let bound = Bound {
        promise,
        found: format!("{slowest:.0} MB/s at worst"),
        kept: slowest >= MB_PER_S_MIN,
    };
    Ok((rows, bound))
}
