//! The worker of one run, in a process of its own that its agent started.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use workers::{AgentGrant, Carrier, RowLimits, RowsRoom, RunRows, WorkError};

use crate::access::Access;
use crate::cards::parse;
use crate::carrier::{NatsCarrier, Ways, abort};
use crate::keys::{KeyError, pair_of, unseal};
use crate::nats::{Nats, NatsError};
use crate::session::Offer;
use crate::signed::RunKeys;
use crate::spool::{Owner, Spool, prepare_root};
use crate::stream::{self, StreamContents};
use crate::{names, plans, rows};

/// A controller that has said nothing for this number of seconds, while NATS was there, is gone: before the start, when
/// a run cannot be continued.
const BEATS_MISSED_MAX: u64 = 30;
/// Number of beats between two looks at the state that another controller needs; it changes when an agent is lost.
const STATE_LOOKS: u64 = 30;
/// How long what is still to be sent may take at the end.
const END_TIME_MAX: Duration = Duration::from_secs(30);

/// Rows leave this much of the disk to spools.
const SPARE_BYTES: u64 = 1 << 30;
/// The option that chooses another directory of rows.
const ROWS_OPTION: &str = "--rows-dir";

/// The job that an agent hands to its worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) access: Access,
    pub(crate) agent: String,
    pub(crate) offer: Offer,
    /// The seed of the scenario's key, if it is sealed.
    pub(crate) plan_key: Option<String>,
    /// The seed of the agent's own key, which signs what it reports.
    #[serde(default)]
    pub(crate) sign_key: Option<String>,
    /// Targets that users may connect to; empty: any.
    pub(crate) allow: Vec<String>,
    /// The root of the spool, and its bound in bytes.
    pub(crate) spool: PathBuf,
    pub(crate) spool_bytes_max: u64,
    /// The root of rows that stay here, and their bound in bytes.
    pub(crate) rows: PathBuf,
    pub(crate) rows_bytes_max: u64,
}

/// Why a worker ended early.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("what the agent wrote cannot be read")]
    Job,
    #[error("no spool can be made in {}", directory.display())]
    Spool {
        directory: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Work(#[from] WorkError),
}

/// Runs the loops of a run; `job` is what the agent wrote, `throng` our version.
pub fn work(job: &str, throng: &str) -> Result<(), JobError> {
    let job: Job = parse(job.as_bytes()).ok_or(JobError::Job)?;
    let nats = Nats::connect(&job.access, &format!("throng agent {}", job.agent))?;
    let keys = keys(&job)?;
    let prepared = prepare(&nats, &job);
    let (spool, stored, plan) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let why = error.to_string();
            nats.block(abort(&nats, &job.offer.run, &job.agent, &keys, &why));
            return Err(error);
        }
    };
    let kept = Arc::new(StreamContents::lasting(Duration::from_secs(job.offer.kept_s)));
    kept.keep_plan(stored.into());
    let ways = Ways::of_agent(&job.offer.run, &job.agent);
    let carrier = Arc::new(NatsCarrier::of_worker(&nats, &ways, &keys, spool, &kept));
    watch_controller(&nats, &job.offer, &carrier, kept);
    let way: Arc<dyn Carrier> = Arc::clone(&carrier) as _;
    let room = room(&job);
    let given = AgentGrant {
        material: Some(&plan),
        allow: &job.allow,
        rows: Some(RunRows { run: &job.offer.run, room: room.as_ref().map_err(String::as_str) }),
    };
    let worked = workers::serve_over(&way, &nats.server, &job.offer.token, throng, given);
    carrier.close();
    carrier.flush(END_TIME_MAX);
    carrier.forget();
    Ok(worked?)
}

/// The keys of the ways to the controller: one that has signed the run signs all that it sends.
fn keys(job: &Job) -> Result<RunKeys, KeyError> {
    let own = job.sign_key.as_deref().map(pair_of).transpose()?;
    let controller = job.offer.signature.as_ref().map(|signature| signature.by.clone());
    Ok(RunKeys::new(own, controller))
}

/// The place for rows of the run that stay here. The error is for people.
fn room(job: &Job) -> Result<RowsRoom, String> {
    let failed = |error| format!("no rows can be kept in {}: {error}", job.rows.display());
    prepare_root(&job.rows, ROWS_OPTION).map_err(failed)?;
    Ok(RowsRoom {
        directory: rows::directory(&job.rows, &job.offer.run, &job.agent),
        limits: RowLimits { bytes_max: job.rows_bytes_max, spare_bytes: SPARE_BYTES },
    })
}

/// The spool, and what the plan is compiled from: as it is in the store, and opened.
fn prepare(nats: &Nats, job: &Job) -> Result<(Spool, Vec<u8>, Vec<u8>), JobError> {
    let stored = nats.block(plans::get(nats, &job.offer.plan))?;
    let plan = match &job.plan_key {
        Some(seed) => unseal(seed, &stored)?.1,
        None => stored.clone(),
    };
    let owner =
        Owner { server: nats.server.clone(), run: job.offer.run.clone(), agent: job.agent.clone() };
    let spool = Spool::create(&job.spool, &owner, job.spool_bytes_max);
    let spool = spool.map_err(|source| JobError::Spool { directory: job.spool.clone(), source })?;
    Ok((spool, stored, plan))
}

/// Ends the connection if the controller is gone: at once before the start, and after it when no other one has come for
/// long. While we are cut off from NATS nothing is known of it, and the plan goes on. Also learns what another controller
/// needs, to put it back if NATS loses it.
fn watch_controller(
    nats: &Arc<Nats>,
    offer: &Offer,
    carrier: &NatsCarrier,
    kept: Arc<StreamContents>,
) {
    let client = nats.client.clone();
    let beat = names::beat(&offer.run);
    let connected = nats.connected();
    let fail = carrier.failer();
    let has_begun = carrier.begun();
    let jet = nats.jet.clone();
    let run = offer.run.clone();
    let alone_s = offer.alone_s.max(BEATS_MISSED_MAX);
    let jet_too = jet.clone();
    let run_too = run.clone();
    nats.spawn(plans::renew(jet_too, run_too, Arc::clone(&kept), plans::RENEW_ALONE));
    nats.spawn(async move {
        let Ok(mut beats) = client.subscribe(beat).await else {
            return fail("NATS cannot be listened to");
        };
        let mut missed = 0;
        let mut looks = 0_u64;
        loop {
            let beat = timeout(Duration::from_secs(1), beats.next()).await;
            if matches!(beat, Ok(None)) {
                return fail("NATS cannot be listened to");
            }
            missed = match beat.is_ok() || !*connected.borrow() {
                true => 0,
                false => missed + 1,
            };
            let missed_max = match has_begun() {
                true => alone_s,
                false => BEATS_MISSED_MAX,
            };
            if missed > missed_max {
                return fail("the controller is gone");
            }
            looks += 1;
            let is_due = kept.state().is_none() || looks.is_multiple_of(STATE_LOOKS);
            if has_begun() && is_due {
                learn_state(&jet, &run, &kept).await;
            }
        }
    });
}

/// Learns the state for another controller. If that fails, the next look comes a second later.
async fn learn_state(jet: &async_nats::jetstream::Context, run: &str, kept: &StreamContents) {
    let look = async {
        let stream = jet.get_stream_no_info(names::stream(run)).await.ok()?;
        stream::get_state(&stream, run).await.ok()?
    };
    if let Some(state) = look.await {
        kept.keep_state(state);
    }
}
