//! How a controller leaves a run: it ends the run that it has conducted, and no other.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use machine::clock::monotonic_ns;
use tokio::time::timeout;
use workers::Carrier;

use super::{Failer, Session};
use crate::cards::{RunCard, json};
use crate::{names, stream};

/// How long the end of all connections may take to reach NATS, and what is written of it.
const END_TIME_MAX: Duration = Duration::from_secs(3);

impl Drop for Session {
    fn drop(&mut self) {
        let carriers = self.carriers.take();
        if self.term.0 > 0 && carriers.iter().all(|carrier| carrier.is_untouched()) {
            // A run that could not be continued waits for another controller as before.
            carriers.iter().for_each(|carrier| carrier.close());
            let released = async { timeout(END_TIME_MAX, self.lease.release()).await };
            // Otherwise the lease goes by its age.
            let _ = self.nats.block(released);
            return;
        }
        let is_replaced = self.is_taken_over.load(Ordering::Relaxed)
            || carriers.iter().any(|carrier| carrier.is_taken_over());
        let confirmed = async { timeout(END_TIME_MAX, self.lease.confirm(Duration::ZERO)).await };
        if is_replaced || self.nats.block(confirmed) != Ok(Some(true)) {
            // The run is another's, or may be: it is not ours to end.
            fail_all(&self.failers, "the run has another controller, or NATS is out of reach");
            return;
        }
        carriers.iter().for_each(|carrier| carrier.close());
        let until_ns = monotonic_ns() + END_TIME_MAX.as_nanos() as u64;
        for carrier in &carriers {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            carrier.flush(Duration::from_nanos(left_ns));
        }
        let outcome = self.outcome.take();
        let card = RunCard {
            outcome: Some(outcome.unwrap_or_else(|| "no verdict".to_owned())),
            ..self.card.clone()
        };
        let ended = async { timeout(END_TIME_MAX, self.end(&card)).await };
        // What NATS does not receive now goes by its age.
        let _ = self.nats.block(ended);
    }
}

/// Gives all connections up.
pub(super) fn fail_all(failers: &Mutex<Vec<Failer>>, why: &str) {
    let failers = failers.lock().unwrap_or_else(PoisonError::into_inner);
    for fail in failers.iter() {
        fail(why);
    }
}

impl Session {
    /// Writes that the run is over, and removes it.
    async fn end(&self, card: &RunCard) {
        // First that it is over: agents put back a stream that is gone.
        if let Ok(ended) = self.nats.bucket(names::ENDED).await {
            // What another controller has written stays.
            let _ = ended.create(&card.run, json(card)).await;
        }
        if stream::is_over(&self.nats.jet, &card.run).await == Some(true) {
            let _ = self.nats.jet.delete_stream(names::stream(&card.run)).await;
        }
        self.lease.release().await;
    }
}
