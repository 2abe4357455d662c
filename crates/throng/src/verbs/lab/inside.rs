//! A run as it takes place in a lab: `throng lab exec` and `throng lab run` say in which.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use controller::Surroundings;
use lab::client::{Client, ClientError, Followed};
use lab::events::Event;
use lab::file::CROWD_PREFIX;
use lab::folder::Folder;
use lab::message::Status;
use record::schema::EventKind;

use super::VARIABLE;
use crate::exit::{Exit, Failure};

/// The lab that this process runs in.
#[derive(Debug)]
struct Inside {
    folder: Folder,
    /// As it was before the run.
    status: Status,
    /// Ends the events of a run.
    closer: Mutex<Option<std::os::unix::net::UnixStream>>,
}

/// The lab that this process runs in, if it does.
pub(crate) fn surroundings() -> Result<Option<Arc<dyn Surroundings>>, Failure> {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let folder = Folder::at(&PathBuf::from(path));
    let status = Client::connect(&folder).and_then(Client::status);
    let status = status.map_err(|error| {
        let message = format!("{VARIABLE} names a lab that does not answer: {error}");
        let hint = format!("unset {VARIABLE} to run outside of a lab");
        Failure::hinted(Exit::Unavailable, message, &hint)
    })?;
    Ok(Some(Arc::new(Inside {
        folder,
        status,
        closer: Mutex::new(None),
    })))
}

impl Inside {
    fn follow(&self, unix_ns: u64) -> Result<Followed, ClientError> {
        let followed = Client::connect(&self.folder)?.follow(unix_ns)?;
        let closer = followed.closer().map_err(ClientError::Gone)?;
        *self.closer.lock().unwrap_or_else(PoisonError::into_inner) = Some(closer);
        Ok(followed)
    }

    fn network(&self) -> Result<EventKind, ClientError> {
        let status = Client::connect(&self.folder).and_then(Client::status)?;
        let network = status.network;
        Ok(EventKind::NetworkEmulated {
            packets: network.packets,
            lost: network.lost,
            overflow: network.overflow,
            late_p99_ns: network.late_p99_ns,
            late_max_ns: network.late_max_ns,
            cpu_ns: (network.cpu_s * 1e9) as u64,
        })
    }
}

impl Surroundings for Inside {
    fn netns(&self, region: &str) -> Option<PathBuf> {
        let name = format!("{CROWD_PREFIX}{region}");
        let hosts = &self.status.hosts;
        let host = hosts.iter().find(|host| host.name == name)?;
        Some(host.namespace.clone())
    }

    fn facts(&self) -> Vec<(String, String)> {
        let of_lab = |host: &&lab::message::HostStatus| {
            host.region != lab::file::CONTROL && !host.name.starts_with(CROWD_PREFIX)
        };
        let hosts = self.status.hosts.iter().filter(of_lab);
        let hosts = hosts.map(|host| format!("{} in {}", host.name, host.region));
        let mut facts = vec![
            ("lab".to_owned(), self.status.lab.clone()),
            (
                "lab emulates".to_owned(),
                "hosts as network namespaces and the links between them, on this machine's cores"
                    .to_owned(),
            ),
            ("lab hosts".to_owned(), hosts.collect::<Vec<_>>().join(", ")),
            ("lab regions".to_owned(), self.status.regions.join(", ")),
        ];
        if self.status.dilation > 1 {
            facts.push(("lab dilation".to_owned(), self.status.dilation.to_string()));
        }
        facts
    }

    fn begin(&self, unix_ns: u64) -> Receiver<(u64, EventKind)> {
        let (sender, receiver) = channel();
        let factor = self.status.dilation;
        if factor > 1 {
            // The receiver is here.
            let _ = sender.send((unix_ns, EventKind::TimeDilated { factor }));
        }
        match self.follow(unix_ns) {
            Ok(mut followed) => {
                std::thread::spawn(move || {
                    while let Some(event) = followed.next_event() {
                        if sender.send((event.unix_ns, kind(event))).is_err() {
                            return;
                        }
                    }
                });
            }
            Err(error) => {
                let text = format!("the lab's events are not known: {error}");
                // The receiver is here.
                let _ = sender.send((unix_ns, EventKind::Note { text }));
            }
        }
        receiver
    }

    fn end(&self) -> Vec<EventKind> {
        let network = self.network().unwrap_or_else(|error| EventKind::Note {
            text: format!("what the lab's network did is not known: {error}"),
        });
        let mut closer = self.closer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(closer) = closer.take() {
            // An error means that it is closed already.
            let _ = closer.shutdown(std::net::Shutdown::Both);
        }
        vec![network]
    }
}

fn kind(event: Event) -> EventKind {
    let text = event.text;
    match event.fault {
        Some((number, true)) => EventKind::FaultBegan { number, text },
        Some((number, false)) => EventKind::FaultEnded { number, text },
        None => EventKind::Note { text },
    }
}
