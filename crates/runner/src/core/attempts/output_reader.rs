//! Reads the output of one attempt from its log, no faster than it is processed.

use super::{AttemptEventKind, OutputProtocol};
use bowline_formats::agents::{AgentAdapter, AgentEvent, AgentProtocol, ResumePoint};
use bowline_formats::markers;
use bowline_supervisor::{Attempt, OutputStream, SupervisorError};
use std::time::{Duration, Instant};

/// Bytes of output reported at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes reported and not yet processed, beyond which the log is not read.
const UNPROCESSED_BYTES_MAX: u64 = 1 << 20;

/// Reader of one attempt's output.
pub(super) struct OutputReader {
    output_protocol: OutputProtocol,
    adapter: AgentAdapter,
    /// Offset up to which the caller has processed the output.
    processed_offset: u64,
    /// Offset from which on the caller needs the output again after a crash.
    durable_offset: u64,
    /// Time at which an unfinished line is parsed all the same.
    flush_at: Option<Instant>,
}

impl OutputReader {
    pub(super) fn from_resume_point(
        output_protocol: OutputProtocol,
        resume: ResumePoint,
    ) -> OutputReader {
        let adapter = AgentAdapter::resume_at(
            output_protocol.protocol,
            output_protocol.nonce.clone(),
            resume,
        );
        OutputReader {
            processed_offset: adapter.offset(),
            durable_offset: resume.at.offset,
            adapter,
            output_protocol,
            flush_at: None,
        }
    }

    /// Returns the offset of the next byte to read.
    pub(super) fn read_offset(&self) -> u64 {
        self.adapter.offset()
    }

    /// Returns the offset up to which output may be discarded.
    pub(super) fn durable_offset(&self) -> u64 {
        self.durable_offset
    }

    pub(super) fn confirm_processed(&mut self, upto: u64, resume: ResumePoint) {
        self.processed_offset = self.processed_offset.max(upto.min(self.adapter.offset()));
        self.durable_offset = self
            .durable_offset
            .max(resume.at.offset.min(self.processed_offset));
    }

    /// Returns when to poll although nothing has arrived.
    pub(super) fn next_poll(&self) -> Option<Instant> {
        self.flush_at
    }

    /// Reports new output to `tell` as far as it is processed. True if nothing is left for now.
    pub(super) fn read_output(
        &mut self,
        attempt: &Attempt,
        now: Instant,
        tell: &mut dyn FnMut(AttemptEventKind),
    ) -> Result<bool, SupervisorError> {
        while self.adapter.offset() - self.processed_offset < UNPROCESSED_BYTES_MAX {
            let asked = self.adapter.offset();
            let (offset, bytes) = attempt.read_output(OutputStream::Out, asked, CHUNK_BYTES)?;
            if bytes.is_empty() {
                self.flush_pending(now, tell);
                return Ok(true);
            }
            if offset > asked {
                // Acknowledged output is gone. Parsing starts anew, possibly in the middle of a
                // line.
                let mut resume = ResumePoint::default();
                resume.at.offset = offset;
                resume.at.mid_line = true;
                *self = OutputReader::from_resume_point(self.output_protocol.clone(), resume);
            }
            let mut events = Vec::new();
            let mut keep = |event: AgentEvent<'_>| events.push(event.into_owned());
            self.adapter.push(&bytes, &mut keep);
            self.flush_at = match self.output_protocol.protocol {
                AgentProtocol::Markers => Some(now + Duration::from_millis(markers::IDLE_FLUSH_MS)),
                AgentProtocol::ClaudeStreamJson | AgentProtocol::CodexJson | AgentProtocol::Acp => {
                    None
                }
            };
            tell(AttemptEventKind::Output {
                offset,
                bytes,
                events,
                resume: self.adapter.resume_point(),
            });
        }
        Ok(false)
    }

    fn flush_pending(&mut self, now: Instant, tell: &mut dyn FnMut(AttemptEventKind)) {
        if self.flush_at.is_none_or(|at| at > now) {
            return;
        }
        self.flush_at = None;
        let mut events = Vec::new();
        self.adapter
            .flush_pending(&mut |event: AgentEvent<'_>| events.push(event.into_owned()));
        self.report_events(events, tell);
    }

    /// Parses what is left at the end of the output.
    pub(super) fn finish_parsing(&mut self, tell: &mut dyn FnMut(AttemptEventKind)) {
        let mut events = Vec::new();
        self.adapter
            .finish(&mut |event: AgentEvent<'_>| events.push(event.into_owned()));
        self.report_events(events, tell);
    }

    fn report_events(
        &self,
        events: Vec<AgentEvent<'static>>,
        tell: &mut dyn FnMut(AttemptEventKind),
    ) {
        if !events.is_empty() {
            tell(AttemptEventKind::Output {
                offset: self.adapter.offset(),
                bytes: Vec::new(),
                events,
                resume: self.adapter.resume_point(),
            });
        }
    }
}
