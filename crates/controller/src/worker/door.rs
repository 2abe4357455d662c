//! Who may come in: the workers that were started for this run, each with a token of its own.

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::frame::{FrameError, FrameReader, send};
use super::protocol::{Answer, Hello, Introduction, MAGIC, PROTOCOL_VERSION};

/// How long a caller may take to say who it is.
const HELLO_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a worker may take to read what it is sent, once its buffers are full.
const WRITE_TIME_MAX: Duration = Duration::from_secs(10);
/// Callers that are listened to at a time; further ones wait.
const CALLERS_MAX: usize = 64;
/// How often the door is looked at.
const POLL: Duration = Duration::from_millis(5);
const TOKEN_BYTES: usize = 16;

/// A listening port of loopback, and the tokens that open it.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    /// By worker; `None` once its worker is in.
    tokens: Arc<Mutex<Vec<Option<String>>>>,
    throng: String,
    callers: (Sender<Caller>, Receiver<Caller>),
    callers_count: usize,
}

/// A worker that came in.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Its place among the workers of the run.
    pub(crate) index: usize,
    pub(crate) introduction: Introduction,
    pub(crate) throng: String,
    pub(crate) reader: FrameReader<TcpStream>,
    pub(crate) stream: TcpStream,
}

/// Who called.
#[derive(Debug)]
enum Caller {
    Worker(Box<Guest>),
    /// One of ours, and yet not one that we can work with.
    Misfit {
        index: usize,
        why: String,
    },
    Stranger,
}

/// Whoever came to the door in a moment.
#[derive(Debug)]
pub(crate) enum Knock {
    Worker(Box<Guest>),
    Misfit { index: usize, why: String },
    Nobody,
}

impl Door {
    /// Opens it for so many workers. `throng`: our version.
    pub(crate) fn open(workers_count: usize, throng: &str) -> std::io::Result<Door> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let tokens: std::io::Result<Vec<_>> =
            (0..workers_count).map(|_| token().map(Some)).collect();
        Ok(Door {
            listener,
            tokens: Arc::new(Mutex::new(tokens?)),
            throng: throng.to_owned(),
            callers: channel(),
            callers_count: 0,
        })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What worker `index` must say.
    pub(crate) fn token(&self, index: usize) -> String {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens[index].clone().unwrap_or_default()
    }

    /// Waits a moment for somebody to come in. Strangers are turned away.
    pub(crate) fn attend(&mut self) -> Knock {
        while self.callers_count < CALLERS_MAX
            && let Ok((stream, _)) = self.listener.accept()
        {
            self.callers_count += 1;
            let (tokens, throng) = (Arc::clone(&self.tokens), self.throng.clone());
            let found = self.callers.0.clone();
            // A thread each, so that one who says nothing keeps nobody out.
            std::thread::spawn(move || {
                let caller = receive(stream, &tokens, &throng).unwrap_or(Caller::Stranger);
                // The door may be closed by now.
                let _ = found.send(caller);
            });
        }
        match self.callers.1.recv_timeout(POLL) {
            Ok(caller) => {
                self.callers_count -= 1;
                match caller {
                    Caller::Worker(guest) => Knock::Worker(guest),
                    Caller::Misfit { index, why } => Knock::Misfit { index, why },
                    Caller::Stranger => Knock::Nobody,
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Knock::Nobody,
        }
    }
}

/// Listens to a caller and answers it.
fn receive(
    mut stream: TcpStream,
    tokens: &Mutex<Vec<Option<String>>>,
    throng: &str,
) -> Result<Caller, FrameError> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(HELLO_TIME_MAX))?;
    stream.set_write_timeout(Some(WRITE_TIME_MAX))?;
    stream.set_nodelay(true)?;
    let mut reader = FrameReader::new(stream.try_clone()?);
    let (hello, rest) = reader.next_front::<Hello>()?;
    if hello.magic != MAGIC {
        return Ok(Caller::Stranger);
    }
    let Some(index) = redeem(tokens, &hello.token) else {
        let refused = Some("nobody with this token is expected here".to_owned());
        send(&mut stream, &Answer { refused })?;
        return Ok(Caller::Stranger);
    };
    if let Some(why) = misfit(&hello, throng) {
        let refused = Some(why.clone());
        send(&mut stream, &Answer { refused })?;
        return Ok(Caller::Misfit { index, why });
    }
    let introduction: Introduction = postcard::from_bytes(&rest)?;
    send(&mut stream, &Answer { refused: None })?;
    stream.set_read_timeout(None)?;
    reader.trust();
    Ok(Caller::Worker(Box::new(Guest {
        index,
        introduction,
        throng: hello.throng,
        reader,
        stream,
    })))
}

/// Which worker a token is for. Nobody comes in with it again.
fn redeem(tokens: &Mutex<Vec<Option<String>>>, token: &str) -> Option<usize> {
    let mut tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
    let index = tokens
        .iter()
        .position(|own| own.as_deref() == Some(token))?;
    tokens[index] = None;
    Some(index)
}

/// Why a worker that speaks so cannot be worked with.
fn misfit(hello: &Hello, throng: &str) -> Option<String> {
    let same = hello.protocol == PROTOCOL_VERSION && hello.throng == throng;
    (!same).then(|| {
        format!(
            "the worker is Throng {} with protocol {}, the controller Throng {throng} with \
             protocol {PROTOCOL_VERSION}; both must be of one version",
            hello.throng, hello.protocol
        )
    })
}

/// What nobody can guess.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn hello(door: &Door, index: usize) -> Hello {
        Hello {
            magic: MAGIC,
            protocol: PROTOCOL_VERSION,
            throng: "1.2.3".to_owned(),
            token: door.token(index),
        }
    }

    fn say(door: &Door, hello: &Hello) -> TcpStream {
        let mut stream = TcpStream::connect(door.address().unwrap()).unwrap();
        let introduction = Introduction {
            pid: 7,
            cores: 2,
            files_per_loop: 100,
        };
        send(&mut stream, &(hello, introduction)).unwrap();
        stream
    }

    fn answer(stream: TcpStream) -> Option<String> {
        FrameReader::new(stream).next::<Answer>().unwrap().refused
    }

    #[track_caller]
    fn somebody(door: &mut Door) -> Knock {
        // Strangers count as nobody, so one waits for who is expected.
        loop {
            match door.attend() {
                Knock::Nobody => {}
                other => return other,
            }
        }
    }

    #[test]
    fn a_worker_comes_in_once_and_strangers_never() {
        let mut door = Door::open(2, "1.2.3").unwrap();
        // One who says nothing keeps nobody out, nor does one who talks nonsense.
        let _silent = TcpStream::connect(door.address().unwrap()).unwrap();
        let mut lost = TcpStream::connect(door.address().unwrap()).unwrap();
        lost.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let known = hello(&door, 1);
        let guessed = Hello {
            token: "0".repeat(2 * TOKEN_BYTES),
            ..known.clone()
        };
        let stranger = say(&door, &guessed);
        let worker = say(&door, &known);
        let Knock::Worker(guest) = somebody(&mut door) else {
            panic!("no worker came in");
        };
        assert_eq!((guest.index, guest.introduction.pid), (1, 7));
        assert_eq!(answer(worker), None);
        assert!(answer(stranger).unwrap().contains("token"));
        // The nonsense was hung up on.
        assert_eq!(lost.read(&mut [0; 9]).unwrap_or(0), 0);
        // The token is used up.
        let again = say(&door, &known);
        let first = say(&door, &hello(&door, 0));
        let Knock::Worker(guest) = somebody(&mut door) else {
            panic!("the other worker did not come in");
        };
        assert_eq!(guest.index, 0);
        assert_eq!(answer(first), None);
        assert!(answer(again).is_some());
    }

    #[test]
    fn other_versions_are_told_so_on_both_sides() {
        let mut door = Door::open(2, "1.2.3").unwrap();
        let own = hello(&door, 0);
        let newer = Hello {
            protocol: PROTOCOL_VERSION + 1,
            throng: "2.0.0".to_owned(),
            ..own
        };
        let worker = say(&door, &newer);
        let Knock::Misfit { index: 0, why } = somebody(&mut door) else {
            panic!("another version came in");
        };
        let said = format!("Throng 2.0.0 with protocol {}", newer.protocol);
        assert!(why.contains(&said), "{why}");
        assert_eq!(answer(worker), Some(why));
        // The same protocol is not enough: plans and figures are of one version.
        let older = Hello {
            throng: "1.2.2".to_owned(),
            ..hello(&door, 1)
        };
        let worker = say(&door, &older);
        assert!(matches!(
            somebody(&mut door),
            Knock::Misfit { index: 1, .. }
        ));
        assert!(answer(worker).is_some());
    }
}
