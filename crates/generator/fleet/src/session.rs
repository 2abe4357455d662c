//! The controller's side: the fleet of one run.

mod begin;
mod end;
mod handover;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use machine::clock::unix_ns;
use nkeys::XKey;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use workers::{Agent, Carrier, Fleet, Rows, Tolerances};

use crate::access::Access;
use crate::cards::{AgentCard, RunCard, json, parse};
use crate::carrier::{NatsCarrier, Term, Ways};
use crate::choice::Choice;
use crate::keys::{KeyError, Purpose, SealedText, Signature, UserKey, seal, seed_for};
use crate::lease::Lease;
use crate::nats::{ANSWER_TIME_MAX, Nats};
use crate::rows::RowsWhat;
use crate::signed::RunKeys;
use crate::stream::{self, StreamContents};
use crate::{names, plans};
use handover::Handover;

/// A request to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Starts a worker for a run.
    Run(Box<Offer>),
    /// Takes no further run, and ends after the one that goes on.
    Drain,
    /// The same, of the holder of a key.
    DrainSigned(Order),
    /// Rows of a run that is over.
    Rows(Box<RowsRequest>),
}

/// A request for the rows of a run that an agent has kept.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowsRequest {
    pub(crate) run: String,
    pub(crate) what: RowsWhat,
    /// Agents that trust some keys require it.
    #[serde(default)]
    pub(crate) order: Option<Order>,
}

/// The signature of a request to an agent, and its time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// By the clock of who requests it.
    pub(crate) at_unix_s: u64,
    pub(crate) signature: Signature,
}

impl Order {
    /// Lets this agent be drained: the one of this name and id, and none that has the name later.
    pub(crate) fn drain(agent: &AgentCard, key: &UserKey) -> Result<Order, KeyError> {
        let at_unix_s = unix_ns() / 1_000_000_000;
        Ok(Order { at_unix_s, signature: key.sign(&Order::text(agent, at_unix_s))? })
    }

    /// The text that is signed.
    pub(crate) fn text(agent: &AgentCard, at_unix_s: u64) -> Bytes {
        Purpose::Drain.text(&json(&(&agent.name, &agent.id, at_unix_s)))
    }
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
    /// How long NATS keeps what the run has sent, seconds.
    #[serde(default)]
    pub(crate) kept_s: u64,
    /// When it was signed, by the controller's clock.
    #[serde(default)]
    pub(crate) at_unix_s: u64,
    /// The seed of the scenario's key, sealed to the agent; `None`: the scenario is not sealed.
    #[serde(default)]
    pub(crate) key: Option<SealedText>,
    /// The signature of the user who begins the run.
    #[serde(default)]
    pub(crate) signature: Option<Signature>,
}

impl Offer {
    /// The text that is signed: the offer to this agent.
    pub(crate) fn text(&self, agent: &str) -> Bytes {
        let unsigned = Offer { signature: None, ..self.clone() };
        Purpose::Offer.text(&json(&(agent, unsigned)))
    }
}

/// Why a request is refused; `None`: it is not.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) refused: Option<String>,
}

/// The options of a run on a fleet.
#[derive(Debug)]
pub struct SessionOptions<'a> {
    pub access: &'a Access,
    /// Throng's version.
    pub throng: &'a str,
    /// The scenario's file.
    pub scenario: &'a str,
    pub choice: Choice,
    pub tolerances: Tolerances,
    /// The place where rows are kept.
    pub rows: Rows,
    /// How long the plan is.
    pub length: Duration,
    /// How long agents go on without a controller.
    pub alone: Duration,
    /// Signs the run and seals its scenario; `None`: neither is done.
    pub key: Option<UserKey>,
}

/// Gives a connection up.
type Failer = Box<dyn Fn(&str) + Send>;

/// A run that is to be continued.
#[derive(Debug)]
pub struct AttachedSession {
    pub session: Session,
    /// State that its first controller has kept.
    pub state: String,
    /// The material that its plan is compiled from, as its first controller gave it.
    pub material: Vec<u8>,
}

/// The agents that one run has, and the ways to them. The run's stream is deleted when this is dropped.
pub struct Session {
    nats: Arc<Nats>,
    card: RunCard,
    lease: Lease,
    throng: String,
    agents: Vec<Agent>,
    tolerances: Tolerances,
    rows: Rows,
    alone: Duration,
    /// When the run was begun, seconds since the Unix epoch.
    begun_unix_s: u64,
    term: Term,
    key: Option<UserKey>,
    /// The key that seals the scenario, if there is a user's key.
    seal: XKey,
    /// By agent: the key by which it reads.
    readers: Vec<String>,
    /// By agent: the public key that must sign what it reports, if it must be signed.
    signers: Vec<Option<String>>,
    /// The scenario's name, once it is in the store.
    plan: RefCell<Option<String>>,
    kept: Arc<StreamContents>,
    carriers: RefCell<Vec<Arc<NatsCarrier>>>,
    /// The functions that give up one connection each.
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
    RunCard { run: run.to_owned(), scenario, agents, ..RunCard::default() }
}

impl Session {
    /// The name of the run in the fleet.
    pub fn run(&self) -> &str {
        &self.card.run
    }

    /// The way to an agent. Both of its ends sign what they send if they have keys.
    fn carrier(&self, ways: &Ways, agent: usize) -> NatsCarrier {
        let signer = self.signers.get(agent).cloned().flatten();
        let keys = RunKeys::new(self.key.as_ref().map(UserKey::pair), signer);
        NatsCarrier::of_controller(&self.nats, ways, &keys, self.term, &self.lease, &self.kept)
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
        let put = self.nats.block(plans::put(&self.nats, self.run(), &scenario));
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
            offer.signature = Some(key.sign(&offer.text(&self.agents[agent].name))?);
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
    fn run(&self) -> &str {
        &self.card.run
    }

    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn tolerances(&self) -> Tolerances {
        self.tolerances
    }

    fn rows(&self) -> Rows {
        self.rows
    }

    fn open(&self, agent: usize, token: &str, material: &[u8]) -> Result<Arc<dyn Carrier>, String> {
        let plan = self.put_plan(material)?;
        let number = agent;
        let agent = &self.agents[agent].name;
        let ways = Ways::of_controller(self.run(), agent);
        let carrier = self.add(self.carrier(&ways, number));
        let offer = Offer {
            run: self.run().to_owned(),
            throng: self.throng.clone(),
            protocol: workers::PROTOCOL_VERSION,
            token: token.to_owned(),
            plan,
            alone_s: self.alone.as_secs(),
            kept_s: self.kept.age().as_secs(),
            at_unix_s: 0,
            key: None,
            signature: None,
        };
        let offer = self.sign(number, offer).map_err(|e| e.to_string())?;
        self.nats.block(self.request(agent, &Request::Run(Box::new(offer))))?;
        Ok(carrier)
    }

    fn reopen(&self, agent: usize) -> Result<Arc<dyn Carrier>, String> {
        let ways = Ways::of_controller(self.run(), &self.agents[agent].name);
        Ok(self.add(self.carrier(&ways, agent)))
    }

    fn keep(&self, state: &str) -> Result<(), String> {
        let plan = self.plan.borrow().clone();
        let key = self.key.as_ref();
        let sealed = key.map(|key| seed_for(&key.seal_key().public_key(), &self.seal));
        let mut handover = Handover {
            throng: self.throng.clone(),
            plan: plan.unwrap_or_default(),
            key: sealed.transpose().map_err(|error| error.to_string())?,
            scenario: self.card.scenario.clone(),
            agents: self.agents.clone(),
            tolerances: self.tolerances,
            rows: self.rows,
            signers: self.signers.clone(),
            begun_unix_s: self.begun_unix_s,
            kept_s: self.kept.age().as_secs(),
            state: state.to_owned(),
            signature: None,
        };
        if let Some(key) = key {
            let signed = handover.sign(self.run(), key);
            signed.map_err(|error| error.to_string())?;
        }
        let handover = json(&handover);
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
