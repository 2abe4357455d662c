//! One controller at a time conducts a run: it holds a lease, the run's card, and renews it.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::kv::{Entry, Operation, Store};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use crate::cards::{LAST, RENEW, RunCard, json, parse};
use crate::nats::{ANSWER_TIME_MAX, Nats, bucket};
use crate::{FleetError, names};

/// How often a lease that may end is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Conducting a run.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    jet: Context,
    card: RunCard,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// When it was last seen that the lease is ours.
    confirmed: Option<Instant>,
    /// It was given back, and is not taken again.
    is_released: bool,
}

/// The state of the lease at a look.
enum LeaseState {
    Free,
    /// The revision, and whose it is.
    Held(u64, RunCard),
}

impl Lease {
    /// Takes the lease of a run, which may have been that of a controller that is gone: it ends some seconds after it was
    /// last renewed. An error if it is renewed.
    pub(crate) async fn take(nats: &Nats, card: RunCard) -> Result<Lease, FleetError> {
        let refused =
            |problem: &dyn std::fmt::Display| nats.refused("keep the run's card", problem);
        let runs = nats.bucket(names::RUNS).await?;
        let mut first = None;
        for _ in 0..=(LAST + RENEW).as_millis() / LOOK.as_millis() {
            match look(&runs, &card.run).await.map_err(|e| refused(&e))? {
                LeaseState::Free => {
                    let created = runs.create(&card.run, json(&card)).await;
                    created.map_err(|e| refused(&e))?;
                    return Ok(Lease { jet: nats.jet.clone(), card, state: Arc::default() });
                }
                LeaseState::Held(revision, holder)
                    if *first.get_or_insert(revision) != revision =>
                {
                    return Err(FleetError::Held { run: card.run, host: holder.host });
                }
                LeaseState::Held(..) => sleep(LOOK).await,
            }
        }
        Err(refused(&"it does not end").into())
    }

    /// Renews the lease for ever; returns when another controller has it.
    pub(crate) async fn hold(self) {
        loop {
            sleep(RENEW).await;
            let renewal = async { self.renew(&mut *self.state.lock().await).await };
            // Without NATS nobody else can take it.
            if let Ok(Some(false)) = timeout(ANSWER_TIME_MAX, renewal).await {
                return;
            }
        }
    }

    /// Whether it is ours, or was this long ago: another one gets it some seconds later at the earliest. One that has ended is
    /// taken again. `None`: NATS does not say.
    pub(crate) async fn confirm(&self, age_max: Duration) -> Option<bool> {
        let confirmed = async {
            let mut state = self.state.lock().await;
            if state.confirmed.is_some_and(|at| at.elapsed() < age_max) {
                return Some(true);
            }
            self.renew(&mut state).await
        };
        timeout(ANSWER_TIME_MAX, confirmed).await.ok().flatten()
    }

    /// Gives it back, if it is ours.
    pub(crate) async fn release(&self) {
        let mut state = self.state.lock().await;
        state.is_released = true;
        state.confirmed = None;
        let Ok(runs) = bucket(&self.jet, names::RUNS).await else {
            return;
        };
        let key = self.card.run.as_str();
        if let Ok(LeaseState::Held(revision, holder)) = look(&runs, key).await
            && holder.holder == self.card.holder
        {
            // Otherwise it goes by its age.
            let _ = runs.delete_expect_revision(key, Some(revision)).await;
        }
    }

    /// `Some(false)`: another controller has it. What fails is tried again, before the lease ends.
    async fn renew(&self, state: &mut State) -> Option<bool> {
        if state.is_released {
            return None;
        }
        state.confirmed = None;
        let at = Instant::now();
        // The bucket may have gone with a restart of NATS.
        let runs = bucket(&self.jet, names::RUNS).await.ok()?;
        let key = self.card.run.as_str();
        let card = json(&self.card);
        match look(&runs, key).await.ok()? {
            LeaseState::Held(_, holder) if holder.holder != self.card.holder => return Some(false),
            LeaseState::Held(revision, _) => drop(runs.update(key, card, revision).await.ok()?),
            LeaseState::Free => drop(runs.create(key, card).await.ok()?),
        }
        state.confirmed = Some(at);
        Some(true)
    }
}

async fn look(runs: &Store, run: &str) -> Result<LeaseState, async_nats::Error> {
    Ok(match runs.entry(run).await? {
        Some(Entry { operation: Operation::Put, value, revision, .. }) => {
            LeaseState::Held(revision, parse(&value).unwrap_or_default())
        }
        _ => LeaseState::Free,
    })
}
