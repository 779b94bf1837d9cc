//! Retention limits of the store: events of deleted tasks, responses to idempotency keys, settled
//! effects.

use crate::serve::SharedState;
use bowline_engine::machines::Timestamp;
use bowline_store::RetentionLimits;
use std::sync::Arc;
use std::time::Duration;

/// Number of newest events from which a client may resume.
const EVENTS_KEPT: u64 = 10_000;
/// Number of newest responses kept for repeated keys.
const RESPONSES_KEPT: u64 = 5_000;
/// Total size of these responses.
const RESPONSE_BYTES_KEPT: u64 = 64 << 20;
const RESPONSE_AGE_MAX_S: i64 = 86_400;
/// Minimum age at which a response is deleted for number or size: clients retry within this time.
const RESPONSE_AGE_MIN_S: i64 = 120;
const EFFECT_AGE_MAX_S: i64 = 30 * 86_400;
const PRUNE_INTERVAL: Duration = Duration::from_secs(30);
/// Settled effects are pruned once in this many rounds: they have no index.
const EFFECTS_EVERY: u64 = 120;

/// Prunes the store at intervals, as long as the server runs.
pub(crate) async fn prune_regularly(shared: Arc<SharedState>) {
    let mut stopping = shared.stopping.subscribe();
    for round in 0_u64.. {
        tokio::select! {
            () = tokio::time::sleep(PRUNE_INTERVAL) => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
        let Ok(store) = shared.job_service().map(|work| work.store()) else {
            continue;
        };
        let kept = retention_limits(shared.context.now(), round.is_multiple_of(EFFECTS_EVERY));
        let pruned = tokio::task::spawn_blocking(move || store.prune_rows(&kept)).await;
        match pruned {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the store was not pruned"),
            Err(error) => tracing::warn!(%error, "the store was not pruned"),
        }
    }
}

fn retention_limits(now: Timestamp, effects: bool) -> RetentionLimits {
    let ago = |seconds: i64| Timestamp(now.0 - seconds);
    RetentionLimits {
        events: EVENTS_KEPT,
        requests: RESPONSES_KEPT,
        request_bytes: RESPONSE_BYTES_KEPT,
        requests_from: ago(RESPONSE_AGE_MAX_S),
        requests_until: ago(RESPONSE_AGE_MIN_S),
        effects_from: effects.then(|| ago(EFFECT_AGE_MAX_S)),
    }
}
