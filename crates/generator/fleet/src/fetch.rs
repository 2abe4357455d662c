//! Brings rows here that agents have kept.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use futures_util::{StreamExt, stream};
use machine::clock::unix_ns;
use machine::disk::free_bytes;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::cards::{AgentCard, json, parse};
use crate::keys::{KeyError, Purpose, UserKey};
use crate::nats::ANSWER_TIME_MAX;
use crate::rows::{BYTES, FILES_MAX, FileList, PIECE_BYTES_MAX, RowsWhat};
use crate::session::{Order, Request, RowsRequest};
use crate::{Admin, FleetError, names};

/// Pieces that are requested before the first of them came.
const IN_FLIGHT: usize = 4;
/// How often a piece is requested.
const ATTEMPTS: u32 = 3;
/// Segments that an agent may have of one run: four weeks of them.
const SEGMENTS_MAX: usize = 1 << 20;
/// The files of a part and what they are joined to.
const COPIES: u64 = 2;
/// Bytes that stay free on our disk.
const SPARE_BYTES: u64 = 256 << 20;

/// Rows that an agent has kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptRows<'a> {
    pub agent: &'a str,
    /// The run's name in the fleet.
    pub run: &'a str,
    /// SHA-256 and bytes of the file, if the agent reported them at the end of the run.
    pub part: Option<(&'a str, u64)>,
}

/// Why rows cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(
        "agent {0} is not in the fleet: start it again on its machine, with the same --name and --rows-dir, and fetch \
         once more"
    )]
    Gone(String),
    #[error("agent {agent} refuses: {problem}")]
    Refused { agent: String, problem: String },
    #[error("agent {agent} does not answer: {problem}")]
    Silent { agent: String, problem: String },
    #[error(
        "the rows of agent {agent} are not those that it reported at the end of the run: SHA-256 {found}, reported \
         {reported}"
    )]
    Changed { agent: String, found: String, reported: String },
    #[error(
        "the rows of agent {agent} need {} in {} while they are joined, and {} are free",
        units::bytes(*.needed), directory.display(), units::bytes(*.free)
    )]
    Room { agent: String, directory: PathBuf, needed: u64, free: u64 },
    #[error("agent {agent} has {SEGMENTS_MAX} segments or more of the run")]
    Many { agent: String },
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Order {
    /// Lets this agent give away or remove rows.
    fn rows(
        agent: &AgentCard,
        run: &str,
        what: &RowsWhat,
        key: &UserKey,
    ) -> Result<Order, KeyError> {
        let at_unix_s = unix_ns() / 1_000_000_000;
        let text = Order::rows_text(agent, run, what, at_unix_s);
        Ok(Order { at_unix_s, signature: key.sign(&text)? })
    }

    /// The text that is signed.
    pub(crate) fn rows_text(
        agent: &AgentCard,
        run: &str,
        what: &RowsWhat,
        at_unix_s: u64,
    ) -> bytes::Bytes {
        Purpose::Rows.text(&json(&(&agent.name, &agent.id, run, what, at_unix_s)))
    }
}

/// An agent, and what of it is wanted.
struct Keeper<'a> {
    admin: &'a Admin,
    card: AgentCard,
    rows: KeptRows<'a>,
    key: Option<&'a UserKey>,
}

impl Admin {
    /// Fetches the files of an agent's rows into a directory that exists: one that is what the agent reported, or the
    /// segments of a worker that was lost before. `on_bytes` gets the number of bytes that came. Files have names that end
    /// in `.tmp`.
    pub fn fetch_rows(
        &self,
        rows: KeptRows<'_>,
        directory: &Path,
        key: Option<&UserKey>,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<Vec<PathBuf>, FleetError> {
        let keeper = self.keeper(rows, key)?;
        let fetched = self.nats.block(keeper.fetch(directory, on_bytes));
        Ok(fetched?)
    }

    /// Lets an agent remove its rows of a run.
    pub fn remove_rows(&self, rows: KeptRows<'_>, key: Option<&UserKey>) -> Result<(), FleetError> {
        let keeper = self.keeper(rows, key)?;
        let removed = self.nats.block(keeper.request(RowsWhat::Remove));
        keeper.listed(&removed?)?;
        Ok(())
    }

    fn keeper<'a>(
        &'a self,
        rows: KeptRows<'a>,
        key: Option<&'a UserKey>,
    ) -> Result<Keeper<'a>, FleetError> {
        let mut cards = self.agents()?.into_iter();
        let card = cards.find(|card| card.name == rows.agent);
        let card = card.ok_or_else(|| FetchError::Gone(rows.agent.to_owned()))?;
        Ok(Keeper { admin: self, card, rows, key })
    }
}

impl Keeper<'_> {
    fn silent(&self, problem: impl Into<String>) -> FetchError {
        FetchError::Silent { agent: self.rows.agent.to_owned(), problem: problem.into() }
    }

    /// One request, and its answer.
    async fn request(&self, what: RowsWhat) -> Result<bytes::Bytes, FetchError> {
        let order = |key| Order::rows(&self.card, self.rows.run, &what, key);
        let order = self.key.map(order).transpose()?;
        let request =
            Request::Rows(Box::new(RowsRequest { run: self.rows.run.to_owned(), what, order }));
        let client = &self.admin.nats.client;
        let sent = client.request(names::agent(self.rows.agent), json(&request));
        match timeout(ANSWER_TIME_MAX, sent).await {
            Ok(Ok(answer)) => Ok(answer.payload),
            Ok(Err(error)) => Err(self.silent(error.to_string())),
            Err(_) => Err(self.silent("no answer in time")),
        }
    }

    /// An answer that holds no bytes of a file.
    fn listed(&self, answer: &[u8]) -> Result<FileList, FetchError> {
        let listed: Option<FileList> = parse(answer);
        let listed = listed.ok_or_else(|| self.silent("its answer cannot be read"))?;
        match listed.refused {
            None => Ok(listed),
            Some(problem) => {
                Err(FetchError::Refused { agent: self.rows.agent.to_owned(), problem })
            }
        }
    }

    /// Bytes of a piece.
    fn step(&self) -> usize {
        let allowed = self.admin.nats.client.server_info().max_payload;
        PIECE_BYTES_MAX.min(allowed.saturating_sub(1))
    }

    /// Bytes of a file; none at its end.
    async fn piece(&self, file: &str, from: u64) -> Result<bytes::Bytes, FetchError> {
        let bytes_max = self.step() as u32;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let what = RowsWhat::Piece { file: file.to_owned(), from, bytes_max };
            match self.request(what).await {
                Ok(answer) if answer.first() == Some(&BYTES) => return Ok(answer.slice(1..)),
                Ok(answer) => {
                    self.listed(&answer)?;
                    return Err(self.silent("its answer holds no bytes"));
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| self.silent("no answer")))
    }

    async fn fetch(
        &self,
        directory: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<Vec<PathBuf>, FetchError> {
        let files = self.files().await?;
        let needed = files.iter().map(|(_, bytes)| *bytes);
        let needed = needed.fold(0_u64, u64::saturating_add);
        let needed = needed.saturating_mul(COPIES).saturating_add(SPARE_BYTES);
        let free = free_bytes(directory).unwrap_or(u64::MAX);
        if free < needed {
            return Err(FetchError::Room {
                agent: self.rows.agent.to_owned(),
                directory: directory.to_owned(),
                needed,
                free,
            });
        }
        let mut paths = Vec::new();
        for (file, bytes) in &files {
            let path = directory.join(format!("{}.{file}.tmp", self.rows.agent));
            let found = self.copy(file, *bytes, &path, on_bytes).await?;
            let reported = self.rows.part.map(|(sha256, _)| sha256);
            if let Some(reported) = reported.filter(|reported| **reported != *found) {
                let _ = std::fs::remove_file(&path);
                return Err(FetchError::Changed {
                    agent: self.rows.agent.to_owned(),
                    found,
                    reported: reported.to_owned(),
                });
            }
            paths.push(path);
        }
        Ok(paths)
    }

    /// The files to fetch, with their bytes.
    async fn files(&self) -> Result<Vec<(String, u64)>, FetchError> {
        let mut files: Vec<(String, u64)> = Vec::new();
        loop {
            let after = files.last().map_or("", |(name, _)| name.as_str()).to_owned();
            let answer = self.request(RowsWhat::List { after }).await?;
            let mut listed = self.listed(&answer)?.files;
            // A list that does not go on would have no end.
            let last = files.last().map(|(name, _)| name.clone());
            listed.retain(|(name, _)| last.as_ref().is_none_or(|last| name > last));
            let is_last = listed.len() < FILES_MAX;
            files.append(&mut listed);
            if files.iter().any(|(name, _)| !is_plain(name)) {
                return Err(self.silent("it names a file that is none of rows"));
            }
            if files.len() >= SEGMENTS_MAX {
                return Err(FetchError::Many { agent: self.rows.agent.to_owned() });
            }
            if is_last {
                break;
            }
        }
        match self.rows.part {
            // One file, of this length.
            Some((_, bytes)) => {
                files.truncate(1);
                files.iter_mut().for_each(|(_, known)| *known = bytes);
                match files.is_empty() {
                    true => Err(self.silent("it has no file of the run's rows any more")),
                    false => Ok(files),
                }
            }
            None => Ok(files),
        }
    }

    /// Copies a file here; its digest.
    async fn copy(
        &self,
        file: &str,
        bytes: u64,
        path: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<String, FetchError> {
        let failed = |source| FetchError::Write { path: path.to_owned(), source };
        let starts = (0..bytes).step_by(self.step().max(1));
        let pieces = stream::iter(starts).map(|from| self.piece(file, from));
        let mut pieces = pieces.buffered(IN_FLIGHT);
        let mut out = File::create(path).map_err(failed)?;
        let mut digest = Sha256::new();
        let mut copied = 0_u64;
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            digest.update(&piece);
            out.write_all(&piece).map_err(failed)?;
            copied += piece.len() as u64;
            on_bytes(piece.len() as u64);
        }
        if copied != bytes {
            return Err(self.silent(format!("{file} ends after {copied} of {bytes} bytes")));
        }
        Ok(units::hex(&digest.finalize()))
    }
}

/// Whether this may be a part of the name of a file of ours.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    name.len() <= 64 && name.chars().all(is_plain) && !name.starts_with('.')
}
