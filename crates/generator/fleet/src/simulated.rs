//! Agents of which nothing runs but their part of the protocol, so that a controller can be measured with a thousand of
//! them. For `bench/fleet`; not part of the crate's interface.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::time::sleep;
use workers::{Carrier, PreparedReports, WorkError, serve_prepared};

use crate::access::Access;
use crate::cards::{AgentCard, RENEW, json, parse};
use crate::carrier::{NatsCarrier, Ways};
use crate::nats::Nats;
use crate::session::{Offer, Reply, Request};
use crate::signed::RunKeys;
use crate::spool::{Owner, Spool};
use crate::stream::StreamContents;
use crate::{FleetError, names};

/// Agents that share a connection to NATS.
const AGENTS_PER_CONNECTION: u32 = 100;
/// Cards that are written at once.
const CARDS_AT_ONCE: usize = 50;
/// Stack of a worker's thread, of which there are two each.
const STACK_BYTES: usize = 1 << 20;
/// How long what is still to be sent may take at the end.
const END_TIME_MAX: Duration = Duration::from_secs(30);

/// A fleet of agents in this process.
#[derive(Debug)]
pub struct SimulatedFleet {
    offers: Receiver<(usize, String, Offer)>,
    connections: Vec<Arc<Nats>>,
}

impl SimulatedFleet {
    /// Agents `sim-1` and so on, each of which says that it can hold a million users.
    pub fn join(access: &Access, agents: u32, throng: &str) -> Result<SimulatedFleet, FleetError> {
        let (sender, offers) = channel();
        let mut connections = Vec::new();
        let all: Vec<u32> = (1..=agents).collect();
        for (number, some) in all.chunks(AGENTS_PER_CONNECTION as usize).enumerate() {
            let nats = Nats::connect(access, "throng simulated agents")?;
            let names: Vec<String> = some.iter().map(|n| format!("sim-{n}")).collect();
            for name in &names {
                let subject = names::agent(name);
                let requests = nats.block(nats.client.subscribe(subject));
                let requests = requests.map_err(|e| nats.refused("be listened to", &e))?;
                let take =
                    take_offers(Arc::clone(&nats), requests, number, name.clone(), sender.clone());
                nats.spawn(take);
            }
            let cards: Vec<AgentCard> = names.iter().map(|name| card(name, throng)).collect();
            nats.block(put(&nats, &cards))?;
            let renewing = Arc::clone(&nats);
            nats.spawn(async move {
                loop {
                    sleep(RENEW).await;
                    // What cannot be written now is written two seconds later.
                    let _ = put(&renewing, &cards).await;
                }
            });
            connections.push(nats);
        }
        Ok(SimulatedFleet { offers, connections })
    }

    /// Takes part in runs until the process ends. `say` gets the bytes that a worker sent each second, one number for each.
    pub fn serve(
        &self,
        spools: &Path,
        throng: &str,
        prepared: PreparedReports,
        say: &(dyn Fn(u64) + Sync),
    ) {
        std::thread::scope(|scope| {
            for (number, agent, offer) in &self.offers {
                let nats = &self.connections[number];
                let work = move || {
                    if let Ok(bytes) = work(nats, &agent, &offer, spools, throng, prepared) {
                        say(bytes);
                    }
                };
                let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
                // The controller waits for one that cannot be started, and says so.
                let _ = thread.spawn_scoped(scope, work);
            }
        });
    }
}

/// Accepts all offers to an agent.
async fn take_offers(
    nats: Arc<Nats>,
    mut requests: async_nats::Subscriber,
    number: usize,
    name: String,
    offers: Sender<(usize, String, Offer)>,
) {
    while let Some(message) = requests.next().await {
        if let (Some(Request::Run(offer)), Some(to)) = (parse(&message.payload), message.reply) {
            let _ = nats.client.publish(to, json(&Reply::default())).await;
            let _ = offers.send((number, name.clone(), *offer));
        }
    }
}

fn card(name: &str, throng: &str) -> AgentCard {
    AgentCard {
        name: name.to_owned(),
        cores: 1,
        files_per_loop: 1_000_000,
        holds: 1_000_000,
        holds_with_target: 1_000_000,
        ports: 60_000,
        ..AgentCard::of_this_machine(name, throng, 1)
    }
}

async fn put(nats: &Nats, cards: &[AgentCard]) -> Result<(), FleetError> {
    let agents = nats.bucket(names::AGENTS).await?;
    for some in cards.chunks(CARDS_AT_ONCE) {
        let puts = some.iter().map(|card| agents.put(&card.name, json(card)));
        for put in join_all(puts).await {
            put.map_err(|error| nats.refused("keep the agents' cards", &error))?;
        }
    }
    Ok(())
}

/// The worker of one run.
fn work(
    nats: &Arc<Nats>,
    agent: &str,
    offer: &Offer,
    spools: &Path,
    throng: &str,
    prepared: PreparedReports,
) -> Result<u64, WorkError> {
    let gone = |problem: String| WorkError::Gone { place: nats.server.clone(), problem };
    let owner =
        Owner { server: nats.server.clone(), run: offer.run.clone(), agent: agent.to_owned() };
    let spool = Spool::create(spools, &owner, u64::MAX).map_err(|e| gone(e.to_string()))?;
    let kept = Arc::new(StreamContents::lasting(Duration::from_secs(offer.kept_s)));
    let ways = Ways::of_agent(&offer.run, agent);
    let carrier = Arc::new(NatsCarrier::of_worker(nats, &ways, &RunKeys::default(), spool, &kept));
    let way: Arc<dyn Carrier> = Arc::clone(&carrier) as _;
    let place = nats.server.as_str();
    let served = serve_prepared(&way, place, &offer.token, throng, prepared);
    carrier.close();
    carrier.flush(END_TIME_MAX);
    carrier.forget();
    served
}
