//! The controller's side: the fleet of one run.

mod begin;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use controller::{Agent, Carrier, Fleet, Tolerances};
use machine::clock::{monotonic_ns, unix_ns};
use nkeys::XKey;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::access::Access;
use crate::cards::{RunCard, json, parse};
use crate::carrier::{NatsCarrier, Term, Ways};
use crate::choice::Choice;
use crate::keys::{KeyError, Sealed, Signature, UserKey, seal, seed_for};
use crate::nats::{ANSWER_TIME_MAX, Nats};
use crate::stream::{self, Kept};
use crate::{names, plans};

/// How long the end of all connections may take to reach NATS.
const END_TIME_MAX: Duration = Duration::from_secs(3);

/// What is requested of an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Starts a worker for a run.
    Run(Box<Offer>),
    /// Takes no further run, and ends after the one that goes on.
    Drain,
}

/// A run that an agent is to take part in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub(crate) run: String,
    /// The controller's version.
    pub(crate) throng: String,
    pub(crate) protocol: u32,
    pub(crate) token: String,
    /// The scenario's name in the object store.
    pub(crate) plan: String,
    /// How long it goes on without a controller, seconds.
    #[serde(default)]
    pub(crate) alone_s: u64,
    /// When it was signed, by the controller's clock.
    #[serde(default)]
    pub(crate) at_unix_s: u64,
    /// The seed of the scenario's key, sealed to the agent; `None`: the scenario is not sealed.
    #[serde(default)]
    pub(crate) key: Option<Sealed>,
    /// Whose run it is.
    #[serde(default)]
    pub(crate) signature: Option<Signature>,
}

impl Offer {
    /// What is signed: the offer to this agent.
    pub(crate) fn text(&self, agent: &str) -> Bytes {
        let unsigned = Offer {
            signature: None,
            ..self.clone()
        };
        json(&(agent, unsigned))
    }
}

/// Why a request is refused; `None`: it is not.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) refused: Option<String>,
}

/// What a run wants of a fleet.
#[derive(Debug)]
pub struct SessionOptions<'a> {
    pub access: &'a Access,
    /// Throng's version.
    pub throng: &'a str,
    /// The scenario's file.
    pub scenario: &'a str,
    pub choice: Choice,
    pub tolerances: Tolerances,
    /// How long agents go on without a controller.
    pub alone: Duration,
    /// Signs the run and seals its scenario; `None`: neither is done.
    pub key: Option<UserKey>,
}

/// What is kept in the run's stream for another controller.
#[derive(Debug, Serialize, Deserialize)]
struct Handover {
    throng: String,
    /// The scenario's name in the object store.
    plan: String,
    /// The seed of its key, sealed to the user.
    #[serde(default)]
    key: Option<Sealed>,
    /// The scenario's file.
    scenario: String,
    agents: Vec<Agent>,
    tolerances: Tolerances,
    /// When the run was begun, seconds since the Unix epoch.
    begun_unix_s: u64,
    /// What the controller itself keeps.
    state: String,
}

/// Gives a connection up.
type Failer = Box<dyn Fn(&str) + Send>;

/// A run that is to be continued.
#[derive(Debug)]
pub struct Attached {
    pub session: Session,
    /// What its first controller has kept.
    pub state: String,
    /// What its plan is compiled from.
    pub scenario: Vec<u8>,
}

/// The agents that one run has, and the ways to them. The run's stream is deleted when this is dropped.
pub struct Session {
    nats: Arc<Nats>,
    card: RunCard,
    throng: String,
    agents: Vec<Agent>,
    tolerances: Tolerances,
    alone: Duration,
    term: Term,
    key: Option<UserKey>,
    /// What the scenario is sealed by, if there is a user's key.
    seal: XKey,
    /// By agent: the key by which it reads.
    readers: Vec<String>,
    /// The scenario's name, once it is in the store.
    plan: RefCell<Option<String>>,
    kept: Arc<Kept>,
    carriers: RefCell<Vec<Arc<NatsCarrier>>>,
    /// What gives each of them up.
    failers: Arc<Mutex<Vec<Failer>>>,
    /// Another controller conducts the run.
    is_taken_over: Arc<AtomicBool>,
    outcome: RefCell<Option<String>>,
    notify: Box<dyn Fn(&str)>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({} at {})", self.card.run, self.nats.server)
    }
}

/// The card of a run whose controller is gone, as far as it is known.
pub(crate) async fn card_of(nats: &Nats, run: &str) -> RunCard {
    let look = async {
        let stream = nats.jet.get_stream_no_info(names::stream(run)).await.ok()?;
        let kept = stream::get_state(&stream, run).await.ok()??;
        serde_json::from_slice::<Handover>(&kept).ok()
    };
    let handover = timeout(ANSWER_TIME_MAX, look).await.ok().flatten();
    let (scenario, agents) = handover.map_or_else(Default::default, |handover| {
        let agents = handover.agents.into_iter().map(|agent| agent.name);
        (handover.scenario, agents.collect())
    });
    RunCard {
        run: run.to_owned(),
        scenario,
        agents,
        ..RunCard::default()
    }
}

impl Session {
    /// The name of the run in the fleet.
    pub fn run(&self) -> &str {
        &self.card.run
    }

    fn add(&self, carrier: NatsCarrier) -> Arc<NatsCarrier> {
        let carrier = Arc::new(carrier);
        let mut failers = self.failers.lock().unwrap_or_else(PoisonError::into_inner);
        failers.push(Box::new(carrier.failer()));
        self.carriers.borrow_mut().push(Arc::clone(&carrier));
        carrier
    }

    /// Puts the scenario into the store, once.
    fn put_plan(&self, scenario: &[u8]) -> Result<String, String> {
        if let Some(plan) = self.plan.borrow().clone() {
            return Ok(plan);
        }
        let scenario = match &self.key {
            Some(_) => seal(&self.seal, scenario).map_err(|error| error.to_string())?,
            None => scenario.to_vec(),
        };
        let put = self.nats.block(plans::put(&self.nats, &scenario));
        let plan = put.map_err(|error| error.to_string())?;
        self.kept.keep_plan(scenario.into());
        self.plan.replace(Some(plan.clone()));
        Ok(plan)
    }

    /// Signs an offer to this agent, and seals the scenario's key to it.
    fn sign(&self, agent: usize, mut offer: Offer) -> Result<Offer, KeyError> {
        if let Some(key) = &self.key {
            let reader = self.readers.get(agent).map_or("", String::as_str);
            offer.key = Some(seed_for(reader, &self.seal)?);
            let at_unix_s = unix_ns() / 1_000_000_000;
            offer.at_unix_s = at_unix_s;
            let bytes = key.sign(&offer.text(&self.agents[agent].name))?;
            offer.signature = Some(Signature {
                by: key.public(),
                bytes,
            });
        }
        Ok(offer)
    }

    async fn request(&self, agent: &str, request: &Request) -> Result<(), String> {
        let sent = self.nats.client.request(names::agent(agent), json(request));
        let answer = match timeout(ANSWER_TIME_MAX, sent).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(format!("it does not answer: {error}")),
            Err(_) => return Err("it does not answer".to_owned()),
        };
        match parse::<Reply>(&answer.payload) {
            None => Err("its answer cannot be read".to_owned()),
            Some(Reply { refused: Some(why) }) => Err(why),
            Some(Reply { refused: None }) => Ok(()),
        }
    }
}

impl Fleet for Session {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn tolerances(&self) -> Tolerances {
        self.tolerances
    }

    fn open(&self, agent: usize, token: &str, scenario: &[u8]) -> Result<Arc<dyn Carrier>, String> {
        let plan = self.put_plan(scenario)?;
        let number = agent;
        let agent = &self.agents[agent].name;
        let ways = Ways::of_controller(self.run(), agent);
        let carrier = NatsCarrier::of_controller(&self.nats, ways, self.term, &self.kept);
        let carrier = self.add(carrier);
        let offer = Offer {
            run: self.run().to_owned(),
            throng: self.throng.clone(),
            protocol: controller::PROTOCOL_VERSION,
            token: token.to_owned(),
            plan,
            alone_s: self.alone.as_secs(),
            at_unix_s: 0,
            key: None,
            signature: None,
        };
        let offer = self.sign(number, offer).map_err(|e| e.to_string())?;
        self.nats
            .block(self.request(agent, &Request::Run(Box::new(offer))))?;
        Ok(carrier)
    }

    fn reopen(&self, agent: usize) -> Result<Arc<dyn Carrier>, String> {
        let ways = Ways::of_controller(self.run(), &self.agents[agent].name);
        let carrier = NatsCarrier::of_controller(&self.nats, ways, self.term, &self.kept);
        Ok(self.add(carrier))
    }

    fn keep(&self, state: &str) -> Result<(), String> {
        let plan = self.plan.borrow().clone();
        let key = self.key.as_ref();
        let key = key.map(|key| seed_for(&key.seal_key().public_key(), &self.seal));
        let handover = json(&Handover {
            throng: self.throng.clone(),
            plan: plan.unwrap_or_default(),
            key: key.transpose().map_err(|error| error.to_string())?,
            scenario: self.card.scenario.clone(),
            agents: self.agents.clone(),
            tolerances: self.tolerances,
            begun_unix_s: unix_ns() / 1_000_000_000,
            state: state.to_owned(),
        });
        self.kept.keep_state(handover.clone());
        let put = stream::put_state(&self.nats.jet, self.run(), handover);
        self.nats.block(put)
    }

    fn conclude(&self, outcome: &str) {
        self.outcome.replace(Some(outcome.to_owned()));
    }

    fn notify(&self, what: &str) {
        (self.notify)(what);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_taken_over.load(Ordering::Relaxed) {
            return;
        }
        let carriers = self.carriers.take();
        carriers.iter().for_each(|carrier| carrier.close());
        let until_ns = monotonic_ns() + END_TIME_MAX.as_nanos() as u64;
        for carrier in &carriers {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            carrier.flush(Duration::from_nanos(left_ns));
        }
        let card = RunCard {
            outcome: Some(
                self.outcome
                    .take()
                    .unwrap_or_else(|| "no verdict".to_owned()),
            ),
            ..self.card.clone()
        };
        // First that it is over: agents put back a stream that is gone.
        let ended = async {
            if let Ok(ended) = self.nats.bucket(names::ENDED).await {
                let _ = ended.put(&card.run, json(&card)).await;
            }
            let _ = self.nats.jet.delete_stream(names::stream(&card.run)).await;
            if let Ok(runs) = self.nats.jet.get_key_value(names::RUNS).await {
                let _ = runs.delete(&card.run).await;
            }
        };
        // What NATS does not hear of now goes by its age.
        let _ = self
            .nats
            .block(async { timeout(END_TIME_MAX, ended).await });
    }
}
