//! The controller's side: the fleet of one run.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::stream;
use controller::{Agent, Carrier, Fleet, Tolerances};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use crate::cards::{self, AgentCard, LAST, RENEW, RunCard, json, parse};
use crate::carrier::{NatsCarrier, Ways};
use crate::choice::Choice;
use crate::nats::{ANSWER_TIME_MAX, Nats, NatsError, bucket};
use crate::{FleetError, names, plans};

/// How often the controller says that it is there.
const BEAT: Duration = Duration::from_secs(1);
/// How long the end of all connections may take to reach NATS.
const END_TIME_MAX: Duration = Duration::from_secs(3);
/// What a run left behind goes after this time.
const STREAM_AGE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How often, and how many times, it is looked whether agents are free whose run is over.
const FREE_LOOK: Duration = Duration::from_millis(200);
const FREE_LOOKS_MAX: u32 = 25;
/// Pieces that arrive twice within this time are stored once.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// What is requested of an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Starts a worker for a run.
    Run(Offer),
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
}

/// Why a request is refused; `None`: it is not.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) refused: Option<String>,
}

/// What a run wants of a fleet.
#[derive(Debug)]
pub struct SessionOptions<'a> {
    pub url: &'a str,
    /// Throng's version.
    pub throng: &'a str,
    /// The scenario's file.
    pub scenario: &'a str,
    pub choice: Choice,
    pub tolerances: Tolerances,
}

/// The agents that one run has, and the ways to them. The run's stream is deleted when this is dropped.
pub struct Session {
    nats: Arc<Nats>,
    run: String,
    throng: String,
    agents: Vec<Agent>,
    tolerances: Tolerances,
    /// The scenario's name, once it is in the store.
    plan: RefCell<Option<String>>,
    carriers: RefCell<Vec<Arc<NatsCarrier>>>,
    notify: Box<dyn Fn(&str)>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({} at {})", self.run, self.nats.server)
    }
}

impl Session {
    /// Chooses agents for a run. `notify` gets what the user must know at once; `on_stop` is called when the end of the
    /// run is requested over NATS.
    pub fn open(
        options: &SessionOptions<'_>,
        notify: Box<dyn Fn(&str)>,
        on_stop: impl Fn() + Send + 'static,
    ) -> Result<Session, FleetError> {
        let nats = Nats::connect(options.url, "throng controller")?;
        let cards = nats.block(agents(&nats))?;
        let chosen = options.choice.of(&cards, options.throng, &nats.server)?;
        let own = AgentCard::of_this_machine("", options.throng, 1);
        let run = own.id.get(..8).unwrap_or("run").to_owned();
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
        let card = RunCard {
            run: run.clone(),
            scenario: options.scenario.to_owned(),
            agents: chosen.iter().map(|card| card.name.clone()).collect(),
            host: machine::procfs::hostname().unwrap_or_default(),
        };
        let session = Session {
            run,
            throng: options.throng.to_owned(),
            agents: agents.collect(),
            tolerances: options.tolerances,
            plan: RefCell::default(),
            carriers: RefCell::default(),
            notify,
            nats,
        };
        session.nats.block(session.create_stream())?;
        session.begin(card, on_stop);
        Ok(session)
    }

    /// The name of the run in the fleet.
    pub fn run(&self) -> &str {
        &self.run
    }

    async fn create_stream(&self) -> Result<(), NatsError> {
        let subject = |way: &str| format!("throng.run.{}.{way}.*", self.run);
        let config = stream::Config {
            name: names::stream(&self.run),
            subjects: vec![subject("from"), subject("to")],
            storage: stream::StorageType::File,
            max_age: STREAM_AGE_MAX,
            duplicate_window: DUPLICATE_WINDOW,
            ..stream::Config::default()
        };
        let made = self.nats.jet.create_stream(config).await;
        made.map(drop)
            .map_err(|error| self.nats.refused("keep the run's stream", &error))
    }

    /// Lets agents and others know that the controller is there, until the connection ends.
    fn begin(&self, card: RunCard, on_stop: impl Fn() + Send + 'static) {
        let (client, beat) = (self.nats.client.clone(), names::beat(&self.run));
        self.nats.spawn(async move {
            loop {
                // It is no use later.
                let _ = timeout(BEAT, client.publish(beat.clone(), "".into())).await;
                sleep(BEAT).await;
            }
        });
        let (client, requests) = (self.nats.client.clone(), names::run(&self.run));
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
        let nats = CardHolder::of(&self.nats);
        self.nats.spawn(async move { nats.renew(card).await });
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
        let known = self.plan.borrow().clone();
        let plan = match known {
            Some(plan) => plan,
            None => {
                let put = self.nats.block(plans::put(&self.nats, scenario));
                let plan = put.map_err(|error| error.to_string())?;
                self.plan.replace(Some(plan.clone()));
                plan
            }
        };
        let agent = &self.agents[agent].name;
        let carrier = NatsCarrier::open(&self.nats, &Ways::of_controller(&self.run, agent));
        let carrier = Arc::new(carrier);
        self.carriers.borrow_mut().push(Arc::clone(&carrier));
        let offer = Request::Run(Offer {
            run: self.run.clone(),
            throng: self.throng.clone(),
            protocol: controller::PROTOCOL_VERSION,
            token: token.to_owned(),
            plan,
        });
        self.nats.block(self.request(agent, &offer))?;
        Ok(carrier)
    }

    fn notify(&self, what: &str) {
        (self.notify)(what);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let carriers = self.carriers.take();
        carriers.iter().for_each(|carrier| carrier.close());
        for carrier in &carriers {
            carrier.flush(END_TIME_MAX);
        }
        let ended = async {
            let _ = self.nats.jet.delete_stream(names::stream(&self.run)).await;
            if let Ok(runs) = self.nats.jet.get_key_value(names::RUNS).await {
                let _ = runs.delete(&self.run).await;
            }
        };
        // What NATS does not hear of now goes by its age.
        let _ = self
            .nats
            .block(async { timeout(END_TIME_MAX, ended).await });
    }
}

/// All agents. One whose run is over is about to be free, and is waited for.
async fn agents(nats: &Nats) -> Result<Vec<AgentCard>, NatsError> {
    let mut looks = 0;
    loop {
        let (agents, runs) = (cards::agents(nats).await?, cards::runs(nats).await?);
        let is_over = |run: &String| runs.iter().all(|card| card.run != *run);
        let returns = |card: &AgentCard| card.run.as_ref().is_some_and(is_over);
        looks += 1;
        if looks > FREE_LOOKS_MAX || !agents.iter().any(returns) {
            return Ok(agents);
        }
        sleep(FREE_LOOK).await;
    }
}

/// What renewing a run's card needs of the connection.
struct CardHolder {
    jet: async_nats::jetstream::Context,
}

impl CardHolder {
    fn of(nats: &Nats) -> CardHolder {
        CardHolder {
            jet: nats.jet.clone(),
        }
    }

    async fn renew(self, card: RunCard) {
        loop {
            let put = async {
                // It may have gone with a restart of NATS.
                if let Ok(runs) = bucket(&self.jet, names::RUNS, LAST).await {
                    let _ = runs.put(&card.run, json(&card)).await;
                }
            };
            let _ = timeout(ANSWER_TIME_MAX, put).await;
            sleep(RENEW).await;
        }
    }
}
