//! The worker of one run, in a process of its own that its agent started.

use std::sync::Arc;
use std::time::Duration;

use controller::{Carrier, WorkError};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::cards::parse;
use crate::carrier::{NatsCarrier, Ways, abort};
use crate::nats::{Nats, NatsError};
use crate::session::Offer;
use crate::{names, plans};

/// A controller that has said nothing for this number of seconds, while NATS was there, is gone.
const BEATS_MISSED_MAX: u32 = 30;
/// How long what is still to be sent may take at the end.
const END_TIME_MAX: Duration = Duration::from_secs(30);

/// What an agent hands to its worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) url: String,
    pub(crate) agent: String,
    pub(crate) offer: Offer,
}

/// Why a worker ended early.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("what the agent wrote cannot be read")]
    Job,
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error(transparent)]
    Work(#[from] WorkError),
}

/// Runs the loops of a run; `job` is what the agent wrote, `throng` our version.
pub fn work(job: &str, throng: &str) -> Result<(), JobError> {
    let Job { url, agent, offer } = parse(job.as_bytes()).ok_or(JobError::Job)?;
    let nats = Nats::connect(&url, &format!("throng agent {agent}"))?;
    let plan = match nats.block(plans::get(&nats, &offer.plan)) {
        Ok(plan) => plan,
        Err(error) => {
            nats.block(abort(&nats, &offer.run, &agent, &error.to_string()));
            return Err(error.into());
        }
    };
    let carrier = Arc::new(NatsCarrier::open(
        &nats,
        &Ways::of_agent(&offer.run, &agent),
    ));
    watch_controller(&nats, &offer.run, &carrier);
    let way: Arc<dyn Carrier> = Arc::clone(&carrier) as _;
    let worked = controller::work_over(&way, &nats.server, &offer.token, throng, Some(&plan));
    carrier.close();
    carrier.flush(END_TIME_MAX);
    Ok(worked?)
}

/// Ends the connection if the controller is gone. While we are cut off from NATS nothing is known of it, and the plan
/// goes on.
fn watch_controller(nats: &Arc<Nats>, run: &str, carrier: &NatsCarrier) {
    let (client, beat, connected) = (nats.client.clone(), names::beat(run), nats.connected());
    let fail = carrier.failer();
    nats.spawn(async move {
        let Ok(mut beats) = client.subscribe(beat).await else {
            return fail("NATS cannot be listened to");
        };
        let mut missed = 0;
        loop {
            let heard = timeout(Duration::from_secs(1), beats.next()).await;
            missed = match heard.is_ok() || !*connected.borrow() {
                true => 0,
                false => missed + 1,
            };
            if missed > BEATS_MISSED_MAX {
                return fail("the controller is gone");
            }
        }
    });
}
