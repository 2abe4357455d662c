//! An agent: lets itself be known, and starts a worker for each run.

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use nkeys::XKey;
use tokio::time::timeout;
use workers::PROTOCOL_VERSION;

use crate::access::Access;
use crate::cards::{self, AgentCard, RENEW, json, parse};
use crate::carrier::{AbandonedSpool, abort};
use crate::job::Job;
use crate::keys::{Signature, UserKey, is_signed, seed, seed_of};
use crate::nats::{ANSWER_TIME_MAX, Nats};
use crate::rows::{self, FileList, RowsKeep, RowsWhat};
use crate::session::{Offer, Order, Reply, Request, RowsRequest};
use crate::signed::RunKeys;
use crate::spool::{self, Owner, Spool, prepare_root};
use crate::{FleetError, names};

/// Older signatures are not accepted, and newer ones if a clock is that far ahead; seconds.
const SIGNATURE_AGE_MAX_S: u64 = 120;
/// Runs of which it is known that they were offered: more than there can be while a signature is accepted.
const KNOWN_MAX: usize = 10_000;
/// How often the agent looks at its worker, and at whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// It looks for spools that were left behind once in this number of looks: the worker of an agent that was killed may hold
/// its own for a moment.
const LEFT_BEHIND_LOOKS: u64 = 50;
/// It removes rows that are too old once in this number of looks, about an hour.
const SWEEP_LOOKS: u64 = 36_000;
/// How long what is still to be sent may take when the agent is stopped.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(5);

/// The options of an agent.
#[derive(Debug, Clone)]
pub struct AgentOptions<'a> {
    pub access: &'a Access,
    /// `None`: its host and process.
    pub name: Option<String>,
    pub labels: Vec<(String, String)>,
    /// How many agents share this machine.
    pub parts: u32,
    /// Whether it ends after its first run.
    pub once: bool,
    /// The root of spools, and the bound of one in bytes.
    pub spool: &'a Path,
    pub spool_bytes_max: u64,
    /// The rows that stay here after a run.
    pub rows: RowsKeep<'a>,
    /// Public keys whose runs are taken; empty: any run is.
    pub trust: Vec<String>,
    /// Signs what the agent says of itself, and what it reports.
    pub key: Option<&'a UserKey>,
    /// Targets that users may connect to, as `HOST:PORT`; empty: any.
    pub allow: Vec<String>,
    /// The program that is started as `PROGRAM agent --job`.
    pub program: &'a Path,
    /// Throng's version.
    pub throng: &'a str,
}

/// An agent that is known to the fleet.
pub struct Agent<'a> {
    nats: Arc<Nats>,
    options: AgentOptions<'a>,
    card: AgentCard,
    worker: Option<Worker>,
    /// By which it reads scenarios.
    key: XKey,
    /// The last runs that were offered by a signature: none is taken twice.
    known: VecDeque<String>,
    /// Spools of workers that are gone, on their way to the controller.
    rests: Vec<AbandonedSpool>,
}

impl std::fmt::Debug for Agent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Agent({})", self.card.name)
    }
}

/// The worker of the run that goes on. It ends when its standard input does.
#[derive(Debug)]
struct Worker {
    run: String,
    child: Child,
}

impl<'a> Agent<'a> {
    /// Connects an agent to its fleet. It takes runs with [`Agent::serve`].
    pub fn join(options: AgentOptions<'a>) -> Result<Agent<'a>, FleetError> {
        let name = options.name.clone().unwrap_or_else(|| {
            let host = machine::procfs::hostname().unwrap_or_else(|| "agent".to_owned());
            format!("{}-{}", names::plain(&host), std::process::id())
        });
        if !names::is_name(&name) {
            return Err(FleetError::Name(name));
        }
        prepare_root(options.spool, spool::OPTION)
            .map_err(|source| FleetError::Spool { directory: options.spool.to_owned(), source })?;
        let nats = Nats::connect(options.access, &format!("throng agent {name}"))?;
        let mut card = AgentCard::of_this_machine(&name, options.throng, options.parts);
        let key = XKey::new();
        card.key = key.public_key();
        card.labels = options.labels.iter().cloned().collect();
        if let Some(own) = options.key {
            card.sign(own)?;
        }
        let others = nats.block(cards::agents(&nats))?;
        if others.iter().any(|other| other.name == name) {
            return Err(FleetError::NameTaken(name));
        }
        let agent = Agent {
            nats,
            options,
            card,
            worker: None,
            key,
            known: VecDeque::new(),
            rests: Vec::new(),
        };
        Ok(agent)
    }

    /// The agent's card: its name, its host and what it can hold.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// The server that it is connected to.
    pub fn server(&self) -> &str {
        &self.nats.server
    }

    /// Takes one run after another until `stop` is set, or until it was drained. `say` gets what is of interest.
    pub fn serve(mut self, stop: &AtomicBool, say: &dyn Fn(&str)) -> Result<(), FleetError> {
        let nats = Arc::clone(&self.nats);
        nats.block(async {
            let requests = nats.client.subscribe(names::agent(&self.card.name)).await;
            let mut requests = requests.map_err(|error| nats.refused("be listened to", &error))?;
            // The first card is an error if it cannot be written; later ones may meet a restart of NATS.
            self.put_card().await?;
            say(&format!("agent {} waits for runs at {}", self.card.name, self.nats.server));
            let mut until_renewal = RENEW;
            let mut looks = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                // Without a name it has no spools but those that were there before it.
                let is_named = self.options.name.is_some();
                if looks == 0 || is_named && looks.is_multiple_of(LEFT_BEHIND_LOOKS) {
                    self.send_left_behind(say);
                }
                if looks.is_multiple_of(SWEEP_LOOKS) {
                    let running = self.worker.as_ref().map(|worker| worker.run.as_str());
                    rows::sweep(&self.options.rows, running);
                }
                looks += 1;
                let request = timeout(LOOK, requests.next()).await;
                if let Ok(None) = request {
                    let closed = nats.refused("be listened to", &"the connection was closed");
                    return Err(closed.into());
                }
                if let Ok(Some(message)) = request {
                    let request = parse::<Request>(&message.payload);
                    let is_of_rows = matches!(request, Some(Request::Rows(_)));
                    let reply = self.answer(request, say);
                    if let Some(to) = message.reply {
                        let _ = nats.client.publish(to, reply).await;
                        let _ = timeout(ANSWER_TIME_MAX, nats.client.flush()).await;
                    }
                    if !is_of_rows {
                        until_renewal = Duration::ZERO;
                    }
                }
                if self.look_at_worker(say).await {
                    until_renewal = Duration::ZERO;
                }
                if self.card.draining && self.worker.is_none() {
                    break;
                }
                until_renewal = until_renewal.saturating_sub(LOOK);
                if until_renewal.is_zero() {
                    until_renewal = RENEW;
                    // Without NATS it is known again when NATS is.
                    let _ = timeout(ANSWER_TIME_MAX, self.put_card()).await;
                }
            }
            self.leave().await;
            Ok(())
        })
    }

    /// The keys by which it sends what a worker has left.
    fn keys(&self) -> RunKeys {
        RunKeys::new(self.options.key.map(UserKey::pair), None)
    }

    async fn put_card(&self) -> Result<(), FleetError> {
        let agents = self.nats.bucket(names::AGENTS).await?;
        let put = agents.put(&self.card.name, json(&self.card)).await;
        put.map_err(|error| self.nats.refused("keep the agent's card", &error))?;
        Ok(())
    }

    /// Sends what others have left behind.
    fn send_left_behind(&mut self, say: &dyn Fn(&str)) {
        let running = self.worker.as_ref().map(|worker| worker.run.as_str());
        let own = self.options.name.as_deref();
        let keys = self.keys();
        let is_ours = |owner: &Owner| is_left_to(owner, &self.nats.server, own, running);
        for (owner, spool) in Spool::left_behind(self.options.spool, is_ours) {
            say(&format!("agent {} sends what run {} left behind", owner.agent, owner.run));
            let why = "it was killed, and started again";
            self.rests.push(AbandonedSpool::send(&self.nats, &owner, &keys, spool, why));
        }
        self.rests.retain(|rest| !rest.is_over());
    }

    /// Ends the worker and sends what is left in its spool. What cannot be sent now is sent by the next agent.
    async fn leave(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.end();
            self.send_rest_of(&worker.run, "its agent was stopped").await;
        }
        join_all(self.rests.drain(..).map(|rest| rest.finish(LEAVE_TIME_MAX))).await;
        let gone = async {
            if let Ok(agents) = self.nats.bucket(names::AGENTS).await {
                let _ = agents.delete(&self.card.name).await;
            }
        };
        // Otherwise the card goes by its age.
        let _ = timeout(ANSWER_TIME_MAX, gone).await;
    }

    fn answer(&mut self, request: Option<Request>, say: &dyn Fn(&str)) -> Bytes {
        let refused = match request {
            None => Some(format!("the request cannot be read by Throng {}", self.options.throng)),
            Some(Request::Drain) => self.drain(None).err(),
            Some(Request::DrainSigned(order)) => self.drain(Some(&order)).err(),
            Some(Request::Run(offer)) => self.take(*offer, say).err(),
            Some(Request::Rows(request)) => {
                let given = self.give_rows(&request);
                let refused = |why| json(&FileList { refused: Some(why), ..FileList::default() });
                return given.unwrap_or_else(refused);
            }
        };
        json(&Reply { refused })
    }

    /// Gives away rows of a run that is over, or removes them. The error is for people.
    fn give_rows(&self, request: &RowsRequest) -> Result<Bytes, String> {
        let run = request.run.as_str();
        let order = request.order.as_ref();
        let at_unix_s = order.map_or(0, |order| order.at_unix_s);
        let text = Order::rows_text(&self.card, run, &request.what, at_unix_s);
        let signature = order.map(|order| &order.signature);
        check_key(&self.options.trust, "request", &text, at_unix_s, signature)?;
        if self.worker.as_ref().is_some_and(|worker| worker.run == run) {
            return Err(format!("run {run} is in progress there"));
        }
        let root = self.options.rows.directory;
        let agent = self.card.name.as_str();
        match &request.what {
            RowsWhat::List { after } => Ok(json(&rows::list(root, run, agent, after)?)),
            RowsWhat::Piece { file, from, bytes_max } => {
                rows::piece(root, run, agent, file, *from, *bytes_max)
            }
            RowsWhat::Remove => {
                rows::remove(root, run, agent)?;
                Ok(json(&FileList::default()))
            }
        }
    }

    /// Takes no further run. The error is for people.
    fn drain(&mut self, order: Option<&Order>) -> Result<(), String> {
        let at_unix_s = order.map_or(0, |order| order.at_unix_s);
        let text = Order::text(&self.card, at_unix_s);
        let signature = order.map(|order| &order.signature);
        check_key(&self.options.trust, "request", &text, at_unix_s, signature)?;
        self.card.draining = true;
        Ok(())
    }

    /// Starts a worker. The error is for people.
    fn take(&mut self, offer: Offer, say: &dyn Fn(&str)) -> Result<(), String> {
        let own = self.options.throng;
        if offer.throng != own || offer.protocol != PROTOCOL_VERSION {
            return Err(format!(
                "the agent is Throng {own} with protocol {PROTOCOL_VERSION}, the controller is Throng {} with protocol \
                 {}; both must have the same version",
                offer.throng, offer.protocol
            ));
        }
        if !names::is_name(&offer.run) {
            return Err("the run has no name that can be".to_owned());
        }
        // First: an offer that is refused now is not to be taken later, from whoever repeats it.
        self.check_signature(&offer)?;
        if let Some(worker) = &self.worker {
            return Err(format!("it takes part in run {}", worker.run));
        }
        if self.card.draining {
            return Err("it was drained".to_owned());
        }
        let plan_key = offer.key.as_ref().map(|sealed| seed(sealed, &self.key));
        let plan_key = plan_key.transpose().map_err(|error| error.to_string())?;
        let sign_key = self.options.key.map(|key| seed_of(&key.pair()));
        let sign_key = sign_key.transpose().map_err(|error| error.to_string())?;
        let run = offer.run.clone();
        let job = Job {
            access: self.options.access.clone(),
            agent: self.card.name.clone(),
            offer,
            plan_key,
            sign_key,
            allow: self.options.allow.clone(),
            spool: self.options.spool.to_owned(),
            spool_bytes_max: self.options.spool_bytes_max,
            rows: self.options.rows.directory.to_owned(),
            rows_bytes_max: self.options.rows.bytes_max,
        };
        let mut command = Command::new(self.options.program);
        // A process group of its own: Ctrl-C reaches the agent, which decides.
        command.args(["agent", "--job"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child =
            command.spawn().map_err(|error| format!("no worker can be started: {error}"))?;
        if let Some(stdin) = &mut child.stdin {
            // A process that has ended already says more by its status.
            let _ = stdin.write_all(&json(&job)).and_then(|()| stdin.write_all(b"\n"));
        }
        say(&format!("run {run} begins"));
        self.card.run = Some(run.clone());
        self.worker = Some(Worker { run, child });
        Ok(())
    }

    /// Whether a run may be taken: if keys are trusted, one of them has signed it, just now and for this agent. The error
    /// is for people.
    fn check_signature(&mut self, offer: &Offer) -> Result<(), String> {
        let trusted = &self.options.trust;
        if trusted.is_empty() {
            return Ok(());
        }
        let text = offer.text(&self.card.name);
        let signature = offer.signature.as_ref();
        check_key(trusted, "run", &text, offer.at_unix_s, signature)?;
        if self.known.contains(&offer.run) {
            return Err("the run was offered before".to_owned());
        }
        self.known.push_back(offer.run.clone());
        if self.known.len() > KNOWN_MAX {
            self.known.pop_front();
        }
        Ok(())
    }

    /// Whether the worker has just ended. A controller that waits for it learns it.
    async fn look_at_worker(&mut self, say: &dyn Fn(&str)) -> bool {
        let ended = self.worker.as_mut().map(|worker| worker.child.try_wait());
        let status = match ended {
            None | Some(Ok(None)) => return false,
            Some(Ok(Some(status))) => status.to_string(),
            Some(Err(error)) => error.to_string(),
        };
        let Some(worker) = self.worker.take() else {
            return false;
        };
        self.card.run = None;
        self.card.draining |= self.options.once;
        say(&format!("run {} ended", worker.run));
        // After an end in good order the controller has gone on.
        let why = format!("its process ended ({status})");
        self.send_rest_of(&worker.run, &why).await;
        true
    }

    /// Sends what its worker of this run has left behind, and why.
    async fn send_rest_of(&mut self, run: &str, why: &str) {
        let own = Owner {
            server: self.nats.server.clone(),
            run: run.to_owned(),
            agent: self.card.name.clone(),
        };
        let keys = self.keys();
        match Spool::find(self.options.spool, &own) {
            Some((owner, spool)) => {
                self.rests.push(AbandonedSpool::send(&self.nats, &owner, &keys, spool, why));
            }
            None => abort(&self.nats, run, &self.card.name, &keys, why).await,
        }
    }
}

/// Whether an agent at this server sends what was left behind: one that was given a name sends its own, another one any.
/// The worker that runs is looked at by itself.
fn is_left_to(owner: &Owner, server: &str, name: Option<&str>, running: Option<&str>) -> bool {
    owner.server == server
        && name.is_none_or(|name| owner.agent == name)
        && running.is_none_or(|run| owner.run != run)
}

/// Whether what is requested may be done: if keys are trusted, one of them has signed it, just now. The error is for people.
fn check_key(
    trusted: &[String],
    what: &str,
    text: &[u8],
    at_unix_s: u64,
    signature: Option<&Signature>,
) -> Result<(), String> {
    if trusted.is_empty() {
        return Ok(());
    }
    let Some(signature) = signature else {
        return Err(format!(
            "the {what} is not signed, and the agent takes signed ones only; use --key"
        ));
    };
    if !trusted.contains(&signature.by) {
        return Err(format!("it does not trust the key {}", signature.by));
    }
    if !is_signed(text, signature) {
        return Err(format!("the signature is not that of the {what}"));
    }
    let now_s = machine::clock::unix_ns() / 1_000_000_000;
    let age_s = at_unix_s.abs_diff(now_s);
    match age_s > SIGNATURE_AGE_MAX_S {
        true => Err(format!(
            "the signature is {age_s} s old by the agent's clock, and {SIGNATURE_AGE_MAX_S} are allowed"
        )),
        false => Ok(()),
    }
}

impl Worker {
    fn end(&mut self) {
        // An error means that it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
