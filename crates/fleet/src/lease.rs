//! One controller at a time conducts a run: it holds a lease, the run's card, and renews it.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::kv::{Entry, Operation, Store};
use tokio::time::{sleep, timeout};

use crate::cards::{LAST, RENEW, RunCard, json, parse};
use crate::nats::{ANSWER_TIME_MAX, Nats, bucket};
use crate::{FleetError, names};

/// How often a lease that may end is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Conducting a run.
#[derive(Debug)]
pub(crate) struct Lease {
    jet: Context,
    card: RunCard,
}

/// What a look at the lease has found.
enum Found {
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
                Found::Free => {
                    let created = runs.create(&card.run, json(&card)).await;
                    created.map_err(|e| refused(&e))?;
                    let jet = nats.jet.clone();
                    return Ok(Lease { jet, card });
                }
                Found::Held(revision, holder) if *first.get_or_insert(revision) != revision => {
                    return Err(FleetError::Held {
                        run: card.run,
                        host: holder.host,
                    });
                }
                Found::Held(..) => sleep(LOOK).await,
            }
        }
        Err(refused(&"it does not end").into())
    }

    /// Renews the lease for ever; returns when another controller has it.
    pub(crate) async fn hold(self) {
        loop {
            sleep(RENEW).await;
            // Without NATS nobody else can take it.
            if let Ok(false) = timeout(ANSWER_TIME_MAX, self.renew()).await {
                return;
            }
        }
    }

    /// `false`: another controller has it.
    async fn renew(&self) -> bool {
        // The bucket may have gone with a restart of NATS.
        let Ok(runs) = bucket(&self.jet, names::RUNS).await else {
            return true;
        };
        let (key, card) = (self.card.run.as_str(), json(&self.card));
        // What fails is tried again, before the lease ends.
        match look(&runs, key).await {
            Ok(Found::Held(_, holder)) if holder.holder != self.card.holder => return false,
            Ok(Found::Held(revision, _)) => drop(runs.update(key, card, revision).await),
            Ok(Found::Free) => drop(runs.create(key, card).await),
            Err(_) => {}
        }
        true
    }
}

async fn look(runs: &Store, run: &str) -> Result<Found, async_nats::Error> {
    Ok(match runs.entry(run).await? {
        Some(Entry {
            operation: Operation::Put,
            value,
            revision,
            ..
        }) => Found::Held(revision, parse(&value).unwrap_or_default()),
        _ => Found::Free,
    })
}
