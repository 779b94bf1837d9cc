//! Reads the output of one attempt from its log, no faster than it is taken.

use super::{Happened, Voice};
use bowline_formats::agents::{Adapter, Event, Protocol, Resume};
use bowline_formats::markers;
use bowline_supervisor::{Attempt, Error, Stream};
use std::time::{Duration, Instant};

/// Output handed over at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Output that was handed over and not yet processed; then the log is left alone.
const UNTAKEN_BYTES_MAX: u64 = 1 << 20;

/// The place in one attempt's output.
pub(super) struct Reading {
    voice: Voice,
    adapter: Adapter,
    /// Up to where the caller has acted upon it.
    taken: u64,
    /// Up to where the caller would not need it again.
    settled: u64,
    /// When a line that has not ended may be read all the same.
    flush_at: Option<Instant>,
}

impl Reading {
    pub(super) fn at(voice: Voice, resume: Resume) -> Reading {
        let adapter = Adapter::resume_at(voice.protocol, voice.nonce.clone(), resume);
        Reading {
            taken: adapter.offset(),
            settled: resume.at.offset,
            adapter,
            voice,
            flush_at: None,
        }
    }

    /// The next byte to be read.
    pub(super) fn offset(&self) -> u64 {
        self.adapter.offset()
    }

    /// What may be forgotten.
    pub(super) fn settled(&self) -> u64 {
        self.settled
    }

    pub(super) fn processed(&mut self, upto: u64, resume: Resume) {
        self.taken = self.taken.max(upto.min(self.adapter.offset()));
        self.settled = self.settled.max(resume.at.offset.min(self.taken));
    }

    /// When to look again although nothing has come.
    pub(super) fn wakes(&self) -> Option<Instant> {
        self.flush_at
    }

    /// What is new, handed to `tell` as far as it is taken. `true` when nothing is left for now.
    pub(super) fn step(
        &mut self,
        attempt: &Attempt,
        now: Instant,
        tell: &mut dyn FnMut(Happened),
    ) -> Result<bool, Error> {
        while self.adapter.offset() - self.taken < UNTAKEN_BYTES_MAX {
            let asked = self.adapter.offset();
            let (offset, bytes) = attempt.read(Stream::Out, asked, CHUNK_BYTES)?;
            if bytes.is_empty() {
                self.flush(now, tell);
                return Ok(true);
            }
            if offset > asked {
                // What was acknowledged is gone. It begins anew, in the middle of a line for all that is known.
                let mut resume = Resume::default();
                resume.at.offset = offset;
                resume.at.mid_line = true;
                *self = Reading::at(self.voice.clone(), resume);
            }
            let mut events = Vec::new();
            let mut keep = |event: Event<'_>| events.push(event.into_owned());
            self.adapter.push(&bytes, &mut keep);
            self.flush_at = match self.voice.protocol {
                Protocol::Markers => Some(now + Duration::from_millis(markers::IDLE_FLUSH_MS)),
                Protocol::ClaudeStreamJson | Protocol::CodexJson | Protocol::Acp => None,
            };
            tell(Happened::Output {
                offset,
                bytes,
                events,
                resume: self.adapter.resume(),
            });
        }
        Ok(false)
    }

    fn flush(&mut self, now: Instant, tell: &mut dyn FnMut(Happened)) {
        if self.flush_at.is_none_or(|at| at > now) {
            return;
        }
        self.flush_at = None;
        let mut events = Vec::new();
        self.adapter
            .flush_pending(&mut |event: Event<'_>| events.push(event.into_owned()));
        self.tell_events(events, tell);
    }

    /// The output is over.
    pub(super) fn finish(&mut self, tell: &mut dyn FnMut(Happened)) {
        let mut events = Vec::new();
        self.adapter
            .finish(&mut |event: Event<'_>| events.push(event.into_owned()));
        self.tell_events(events, tell);
    }

    fn tell_events(&self, events: Vec<Event<'static>>, tell: &mut dyn FnMut(Happened)) {
        if !events.is_empty() {
            tell(Happened::Output {
                offset: self.adapter.offset(),
                bytes: Vec::new(),
                events,
                resume: self.adapter.resume(),
            });
        }
    }
}
