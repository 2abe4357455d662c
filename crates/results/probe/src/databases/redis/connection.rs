//! A connection to Redis: commands, and answers that are never larger than they may be (RESP 2).

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use redis::{ConnectionAddr, ConnectionInfo};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::databases::tls;
use crate::source::ANSWER_MAX;

/// Most bytes of an answer; an `INFO` of a server with many databases has 10 KB.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Most bytes of a line that is an answer, or begins one.
const LINE_BYTES_MAX: u64 = 4 << 10;

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// One server.
pub(super) struct Connection {
    stream: BufReader<Box<dyn Stream>>,
}

impl Connection {
    /// Connects and authenticates.
    pub(super) fn open(info: &ConnectionInfo) -> io::Result<Connection> {
        let stream: Box<dyn Stream> = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Box::new(connect(host, *port)?),
            ConnectionAddr::TcpTls { host, port, .. } => {
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                let session = ClientConnection::new(tls::config(), name);
                let session = session.map_err(io::Error::other)?;
                Box::new(StreamOwned::new(session, connect(host, *port)?))
            }
            _ => return Err(io::Error::other("it has no network address")),
        };
        let mut connection = Connection { stream: BufReader::new(stream) };
        let user = info.redis_settings();
        if let Some(password) = user.password() {
            let mut words = vec!["AUTH"];
            words.extend(user.username());
            words.push(password);
            connection.query(&words)?;
        }
        Ok(connection)
    }

    /// The answer to a command, which is a text.
    pub(super) fn query(&mut self, words: &[&str]) -> io::Result<String> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            command += &format!("${}\r\n{word}\r\n", word.len());
        }
        let stream = self.stream.get_mut();
        stream.write_all(command.as_bytes())?;
        stream.flush()?;
        let line = self.line()?;
        let rest = line.get(1..).unwrap_or_default();
        match line.as_bytes().first() {
            Some(b'+') => Ok(rest.to_owned()),
            Some(b'-') => Err(io::Error::other(rest)),
            Some(b'$') => self.text(rest),
            _ => Err(nonsense("it is not an answer of Redis".to_owned())),
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let mut limited = self.stream.by_ref().take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
            None if line.len() as u64 == LINE_BYTES_MAX => {
                Err(nonsense("a line has no end".to_owned()))
            }
            None => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    /// A text of the stated number of bytes.
    fn text(&mut self, stated: &str) -> io::Result<String> {
        let length = stated.parse::<usize>().ok();
        let Some(length) = length.filter(|&length| length <= ANSWER_BYTES_MAX) else {
            return Err(nonsense(format!("an answer of {stated} bytes")));
        };
        let mut bytes = vec![0; length + b"\r\n".len()];
        self.stream.read_exact(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWER_MAX) {
            Ok(stream) => {
                stream.set_read_timeout(Some(ANSWER_MAX))?;
                stream.set_write_timeout(Some(ANSWER_MAX))?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn nonsense(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use redis::IntoConnectionInfo;

    use super::*;

    /// What comes of querying a server that answers each command with the next of these, and then goes on
    /// with rubbish for as long as somebody takes it.
    fn answer_to(user: &str, answers: &'static [&'static str]) -> (io::Result<String>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{user}{}/", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut taken = Vec::new();
            for answer in answers {
                let mut piece = [0; 1024];
                let n = stream.read(&mut piece).unwrap();
                taken.extend_from_slice(&piece[..n]);
                stream.write_all(answer.as_bytes()).unwrap();
            }
            while stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
            taken
        });
        let info = url.into_connection_info().unwrap();
        let answer = Connection::open(&info).and_then(|mut connection| connection.query(&["INFO"]));
        (answer, server.join().unwrap())
    }

    #[test]
    fn commands_are_answered() {
        let (answer, taken) = answer_to("me:hunter2@", &["+OK\r\n", "$5\r\na:1\r\n\r\n"]);
        assert_eq!(answer.unwrap(), "a:1\r\n");
        let expected = "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$7\r\nhunter2\r\n*1\r\n$4\r\nINFO\r\n";
        assert_eq!(String::from_utf8(taken).unwrap(), expected);
        let (answer, _) = answer_to("", &["-NOAUTH Authentication required.\r\n"]);
        let answer = answer.unwrap_err().to_string();
        assert_eq!(answer, "NOAUTH Authentication required.");
    }

    #[test]
    fn what_has_no_end_is_not_read() {
        for (answer, expected) in [
            ("$4000000000\r\n", "an answer of 4000000000 bytes"),
            ("$-1\r\n", "an answer of -1 bytes"),
            ("$99999999999999999999\r\n", "an answer of 99999999999999999999 bytes"),
            ("+", "a line has no end"),
            ("*1000000000\r\n", "it is not an answer of Redis"),
            ("HTTP/1.1 400 Bad Request\r\n", "it is not an answer of Redis"),
        ] {
            let answers: &'static [&'static str] = Box::leak(Box::new([answer]));
            let error = answer_to("", answers).0.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{answer}");
            assert_eq!(error.to_string(), expected);
        }
    }
}
