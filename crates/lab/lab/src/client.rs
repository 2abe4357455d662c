//! The callers of a lab.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::events::Event;
use crate::folder::Folder;
use crate::message::{LINE_BYTES_MAX, PairStatus, Reply, Request, Status};

/// Why a lab does not do what is wanted.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No lab listens there.
    #[error("the lab is not up")]
    NotUp(#[source] io::Error),
    /// It went away.
    #[error("the lab has ended")]
    Gone(#[source] io::Error),
    /// It refuses.
    #[error("{0}")]
    Refused(String),
    /// It answers with something else.
    #[error("the lab is of another version")]
    Unexpected,
}

/// A connection to a lab, for one request.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    lines: BufReader<io::Take<UnixStream>>,
}

/// A command for a host.
#[derive(Debug)]
pub struct Exec<'a> {
    /// The host's name.
    pub host: &'a str,
    /// The command.
    pub command: Vec<String>,
    /// Environment of the command.
    pub environment: BTreeMap<String, String>,
    /// Working directory of the command.
    pub folder: &'a Path,
}

impl Client {
    /// Connects to the lab of a folder.
    ///
    /// # Errors
    /// None listens there.
    pub fn connect(folder: &Folder) -> Result<Client, ClientError> {
        let stream = UnixStream::connect(folder.socket()).map_err(ClientError::NotUp)?;
        let lines = stream.try_clone().map_err(ClientError::NotUp)?;
        Ok(Client { stream, lines: BufReader::new(lines.take(u64::MAX)) })
    }

    /// How the lab is.
    ///
    /// # Errors
    /// It went away.
    pub fn status(mut self) -> Result<Status, ClientError> {
        self.send(&Request::Status)?;
        match self.receive()? {
            Reply::Status(status) => Ok(*status),
            _ => Err(ClientError::Unexpected),
        }
    }

    /// Runs a command on a host with this process's standard input, output and error; returns its exit code.
    /// `signals` is called with a function that passes a signal on.
    ///
    /// # Errors
    /// There is no such host or program, or the lab went away.
    pub fn exec(
        mut self,
        exec: Exec<'_>,
        signals: impl FnOnce(Box<dyn Fn(i32) + Send>),
    ) -> Result<i32, ClientError> {
        let request = Request::Exec {
            host: exec.host.to_owned(),
            command: exec.command,
            environment: exec.environment,
            folder: exec.folder.to_owned(),
        };
        self.send_with_descriptors(&request)?;
        let stream = self.stream.try_clone().map_err(ClientError::Gone)?;
        signals(Box::new(move |number| {
            // The command has ended if the lab does not listen any more.
            let _ = write(&stream, &Request::Signal(number));
        }));
        match self.receive()? {
            Reply::Exited(code) => Ok(code),
            _ => Err(ClientError::Unexpected),
        }
    }

    /// Measures the network with this many datagrams between each two regions.
    ///
    /// # Errors
    /// It cannot be measured, or the lab went away.
    pub fn calibrate(mut self, packets: u32) -> Result<Vec<PairStatus>, ClientError> {
        self.send(&Request::Calibrate { packets })?;
        match self.receive()? {
            Reply::Calibrated(pairs) => Ok(pairs),
            _ => Err(ClientError::Unexpected),
        }
    }

    /// Begins a fault and returns its number.
    ///
    /// # Errors
    /// The text is no fault of this lab, or it cannot happen.
    pub fn fault(mut self, text: &str) -> Result<u32, ClientError> {
        self.send(&Request::Fault(text.to_owned()))?;
        match self.receive()? {
            Reply::Fault(number) => Ok(number),
            _ => Err(ClientError::Unexpected),
        }
    }

    /// Ends a fault.
    ///
    /// # Errors
    /// No such fault is at work.
    pub fn repair(mut self, number: u32) -> Result<(), ClientError> {
        self.send(&Request::Repair(number))?;
        self.done()
    }

    /// A run is about to begin: scaling groups get to what they desire, by these rules instead of the file's.
    ///
    /// # Errors
    /// The rules are wrong, instances do not start, or the lab went away.
    pub fn prepare(mut self, scaling: Option<&str>) -> Result<(), ClientError> {
        let scaling = scaling.map(str::to_owned);
        self.send(&Request::Prepare { scaling })?;
        self.done()
    }

    /// Sets the number of a service's instances, in each of its regions or in one.
    ///
    /// # Errors
    /// There is no such group, or it may not have as many.
    pub fn scale(
        mut self,
        service: &str,
        region: Option<&str>,
        count: u32,
    ) -> Result<(), ClientError> {
        self.send(&Request::Scale {
            service: service.to_owned(),
            region: region.map(str::to_owned),
            count,
        })?;
        self.done()
    }

    /// A run has begun: faults happen by its time. Returns the events from now on; they end with the connection.
    ///
    /// # Errors
    /// The lab went away.
    pub fn follow(self, unix_ns: u64) -> Result<EventStream, ClientError> {
        self.send(&Request::Follow { unix_ns })?;
        Ok(EventStream { client: self })
    }

    /// Ends the lab, and waits until all has ended.
    ///
    /// # Errors
    /// It went away before.
    pub fn down(mut self) -> Result<(), ClientError> {
        self.send(&Request::Down)?;
        self.done()
    }

    fn done(&mut self) -> Result<(), ClientError> {
        match self.receive()? {
            Reply::Done => Ok(()),
            _ => Err(ClientError::Unexpected),
        }
    }

    fn send(&self, request: &Request) -> Result<(), ClientError> {
        write(&self.stream, request).map_err(ClientError::Gone)
    }

    fn send_with_descriptors(&self, request: &Request) -> Result<(), ClientError> {
        let line = line(request).map_err(ClientError::Gone)?;
        let input = io::stdin();
        let output = io::stdout();
        let error = io::stderr();
        let descriptors = [input.as_fd(), output.as_fd(), error.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let parts = [IoSlice::new(line.as_bytes())];
        let sent = sendmsg(&self.stream, &parts, &mut ancillary, SendFlags::NOSIGNAL);
        let sent = sent.map_err(|error| ClientError::Gone(error.into()))?;
        let rest = line.as_bytes().get(sent..).unwrap_or_default();
        (&self.stream).write_all(rest).map_err(ClientError::Gone)
    }

    fn receive(&mut self) -> Result<Reply, ClientError> {
        let mut line = String::new();
        self.lines.get_mut().set_limit(LINE_BYTES_MAX);
        let read = self.lines.read_line(&mut line).map_err(ClientError::Gone)?;
        if read == 0 {
            return Err(ClientError::Gone(io::ErrorKind::UnexpectedEof.into()));
        }
        match serde_json::from_str(&line) {
            Ok(Reply::Refused(why)) => Err(ClientError::Refused(why)),
            Ok(reply) => Ok(reply),
            Err(_) => Err(ClientError::Unexpected),
        }
    }
}

/// Events of a lab during a run.
#[derive(Debug)]
pub struct EventStream {
    client: Client,
}

impl EventStream {
    /// The next event; `None`: the lab has ended.
    pub fn next_event(&mut self) -> Option<Event> {
        match self.client.receive() {
            Ok(Reply::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// The other end of the same connection, for another thread.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn reporter(&self) -> io::Result<Reporter> {
        let stream = self.client.stream.try_clone()?;
        Ok(Reporter { stream })
    }
}

/// Reports to a lab on the run that follows its events.
#[derive(Debug)]
pub struct Reporter {
    stream: UnixStream,
}

impl Reporter {
    /// The users that are there, and how many arrived per second. A lab that has gone does not get it.
    pub fn crowd(&self, users: u64, arrivals_per_s: f64) {
        let request = Request::Crowd { users, arrivals_per_s };
        let _ = write(&self.stream, &request);
    }

    /// Ends the wait of [`next_event`](EventStream::next_event).
    pub fn close(&self) {
        // An error means that it is closed already.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

fn line(request: &Request) -> io::Result<String> {
    Ok(serde_json::to_string(request)? + "\n")
}

fn write(mut stream: &UnixStream, request: &Request) -> io::Result<()> {
    stream.write_all(line(request)?.as_bytes())
}
