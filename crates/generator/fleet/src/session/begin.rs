//! How a controller takes a run: a new one, or one whose controller is gone.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use futures_util::future::join_all;
use machine::clock::unix_ns;
use nkeys::XKey;
use tokio::time::{sleep, timeout};
use workers::Agent;

use super::end::fail_all;
use super::handover::Handover;
use super::{AttachedSession, Reply, Session, SessionOptions};
use crate::access::Access;
use crate::cards::{self, AgentCard, RunCard, json};
use crate::carrier::{Term, Ways, last_term};
use crate::choice::ChosenAgents;
use crate::keys::{UserKey, open};
use crate::lease::Lease;
use crate::nats::{Nats, NatsError};
use crate::stream::{self, StreamContents};
use crate::{FleetError, names, plans};

/// How often the controller says that it is there.
const BEAT: Duration = Duration::from_secs(1);
/// How often, and how many times, it is looked whether agents are free whose run is over.
const FREE_LOOK: Duration = Duration::from_millis(200);
const FREE_LOOKS_MAX: u32 = 25;
/// Bytes of the name of a run, and of a controller.
const ID_BYTES: usize = 8;

impl Session {
    /// Chooses agents for a run. `notify` gets what the user must know at once; `on_stop` is called when the end of the
    /// run is requested over NATS.
    pub fn open(
        options: SessionOptions<'_>,
        notify: Box<dyn Fn(&str)>,
        on_stop: impl Fn() + Send + 'static,
    ) -> Result<Session, FleetError> {
        let nats = Nats::connect(options.access, "throng controller")?;
        let cards = nats.block(agents(&nats))?;
        let ChosenAgents { agents: chosen, left_out } =
            options.choice.choose(&cards, options.throng, &nats.server)?;
        if let Some(agents) = left_out {
            notify(&format!("agents of another version take no part: {agents}"));
        }
        let own = AgentCard::of_this_machine("", options.throng, 1);
        let run = own.id.get(..ID_BYTES).unwrap_or("run").to_owned();
        let is_signed = !options.choice.trust.is_empty();
        let signer = |card: &AgentCard| card.signer().filter(|_| is_signed).map(str::to_owned);
        let is_here = |card: &AgentCard| !card.machine.is_empty() && card.machine == own.machine;
        let agents = chosen.iter().map(|card| Agent {
            name: card.name.clone(),
            cores: card.cores,
            files_per_loop: card.files_per_loop,
            holds: card.holds,
            holds_with_target: card.holds_with_target,
            ports: card.ports,
            is_here: is_here(card),
        });
        let card = card(&run, options.scenario, chosen.iter().map(|card| &card.name));
        let lease = nats.block(Lease::take(&nats, card.clone()))?;
        let kept = StreamContents::lasting(stream::age(options.length, options.alone));
        let made = nats.block(stream::create(&nats.jet, &run, kept.age()));
        made.map_err(|error| nats.refused("keep the run's stream", &error))?;
        let session = Session {
            card,
            lease,
            throng: options.throng.to_owned(),
            agents: agents.collect(),
            tolerances: options.tolerances,
            rows: options.rows,
            alone: options.alone,
            begun_unix_s: unix_ns() / 1_000_000_000,
            term: Term(0),
            key: options.key,
            seal: XKey::new(),
            readers: chosen.iter().map(|card| card.key.clone()).collect(),
            signers: chosen.iter().map(signer).collect(),
            plan: RefCell::default(),
            kept: Arc::new(kept),
            carriers: RefCell::default(),
            failers: Arc::default(),
            is_taken_over: Arc::new(AtomicBool::new(false)),
            outcome: RefCell::default(),
            notify,
            nats,
        };
        session.begin(on_stop);
        Ok(session)
    }

    /// Takes a run whose controller is gone. The rest is as with [`Session::open`].
    pub fn attach(
        access: &Access,
        run: &str,
        throng: &str,
        key: Option<UserKey>,
        notify: Box<dyn Fn(&str)>,
        on_stop: impl Fn() + Send + 'static,
    ) -> Result<AttachedSession, FleetError> {
        if !names::is_name(run) {
            return Err(FleetError::NoRun(run.to_owned()));
        }
        let nats = Nats::connect(access, "throng controller")?;
        let unable = |problem: String| FleetError::Attach { run: run.to_owned(), problem };
        let found = nats.block(nats.jet.get_stream(names::stream(run)));
        let stream = found.map_err(|_| FleetError::NoRun(run.to_owned()))?;
        let looked = nats.block(stream::get_state(&stream, run));
        let kept = looked.map_err(unable)?;
        let handover = Handover::read(kept.as_ref(), run, throng, key.as_ref());
        let handover = handover.map_err(unable)?;
        let sealed = nats.block(plans::get(&nats, &handover.plan))?;
        let (seal, material) = match (&handover.key, &key) {
            (Some(seed), Some(key)) => open(seed, key.seal_key(), &sealed)?,
            _ => (XKey::new(), sealed.clone()),
        };
        let names = handover.agents.iter().map(|agent| &agent.name);
        let card = card(run, &handover.scenario, names);
        let lease = nats.block(Lease::take(&nats, card.clone()))?;
        if nats.block(stream::is_over(&nats.jet, run)) == Some(true) {
            // It ended while its lease was waited for; ours goes by its age.
            return Err(FleetError::NoRun(run.to_owned()));
        }
        let term = nats.block(next_term(&stream, run, &handover));
        let both = StreamContents::lasting(Duration::from_secs(handover.kept_s));
        both.keep_plan(sealed.into());
        both.keep_state(kept.unwrap_or_default());
        let session = Session {
            card,
            lease,
            throng: throng.to_owned(),
            agents: handover.agents,
            tolerances: handover.tolerances,
            rows: handover.rows,
            alone: Duration::ZERO,
            begun_unix_s: handover.begun_unix_s,
            term: term.map_err(unable)?,
            key,
            seal,
            readers: Vec::new(),
            signers: handover.signers,
            plan: RefCell::new(Some(handover.plan)),
            kept: Arc::new(both),
            carriers: RefCell::default(),
            failers: Arc::default(),
            is_taken_over: Arc::new(AtomicBool::new(false)),
            outcome: RefCell::default(),
            notify,
            nats,
        };
        session.begin(on_stop);
        Ok(AttachedSession { session, state: handover.state, material })
    }

    /// Lets agents and others know that the controller is there, until the connection ends or another one has the run.
    fn begin(&self, on_stop: impl Fn() + Send + 'static) {
        let client = self.nats.client.clone();
        let beat = names::beat(self.run());
        self.nats.spawn(async move {
            loop {
                // It is no use later.
                let _ = timeout(BEAT, client.publish(beat.clone(), "".into())).await;
                sleep(BEAT).await;
            }
        });
        let client = self.nats.client.clone();
        let requests = names::run(self.run());
        self.nats.spawn(async move {
            let Ok(mut requests) = client.subscribe(requests).await else {
                return;
            };
            while let Some(message) = requests.next().await {
                on_stop();
                if let Some(reply) = message.reply {
                    let _ = client.publish(reply, json(&Reply::default())).await;
                }
            }
        });
        let jet = self.nats.jet.clone();
        let run = self.run().to_owned();
        let renewed = plans::renew(jet, run, Arc::clone(&self.kept), plans::RENEW);
        self.nats.spawn(renewed);
        let is_taken_over = Arc::clone(&self.is_taken_over);
        let failers = Arc::clone(&self.failers);
        let lease = self.lease.clone();
        self.nats.spawn(async move {
            lease.hold().await;
            is_taken_over.store(true, Ordering::Relaxed);
            fail_all(&failers, "another controller has taken over the run");
        });
    }
}

/// The term of a controller that comes now: above those in the stream, so that clocks of different machines need not
/// agree; and above the time since the run was begun, since NATS may have lost what another one had sent. The error is for
/// people.
async fn next_term(stream: &Stream, run: &str, handover: &Handover) -> Result<Term, String> {
    let agents = handover.agents.iter();
    let terms = agents.map(|agent| async {
        let ways = Ways::of_controller(run, &agent.name);
        last_term(stream, &ways).await
    });
    let since_s = (unix_ns() / 1_000_000_000).saturating_sub(handover.begun_unix_s);
    let mut last = Term(since_s.min(Term::LAST.0 / 2));
    for term in join_all(terms).await {
        last = last.max(term?);
    }
    if last >= Term::LAST {
        return Err("all positions of what is sent to its agents are used up".to_owned());
    }
    Ok(Term(last.0 + 1))
}

/// The card of a run that this controller conducts.
fn card<'a>(run: &str, scenario: &str, agents: impl Iterator<Item = &'a String>) -> RunCard {
    RunCard {
        run: run.to_owned(),
        scenario: scenario.to_owned(),
        agents: agents.cloned().collect(),
        host: machine::procfs::hostname().unwrap_or_default(),
        holder: machine::secret(ID_BYTES).unwrap_or_default(),
        outcome: None,
    }
}

/// All agents. One whose run is over is about to be free, and is waited for.
async fn agents(nats: &Nats) -> Result<Vec<AgentCard>, NatsError> {
    let mut looks = 0;
    loop {
        let agents = cards::agents(nats).await?;
        let runs = cards::runs(nats).await?;
        let is_over = |run: &String| runs.iter().all(|card| card.run != *run);
        let returns = |card: &AgentCard| card.run.as_ref().is_some_and(is_over);
        looks += 1;
        if looks > FREE_LOOKS_MAX || !agents.iter().any(returns) {
            return Ok(agents);
        }
        sleep(FREE_LOOK).await;
    }
}
