//! A balancer in this process, and backends that do as they are scripted.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use balancer::{BalancerError, BalancerOptions, Event, Report, Source};
use server::{ServerError, Shutdown};
use targets::echo::{self, EchoOptions};
use targets::worker::{self, WorkerOptions};
use testkit::http::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// A running balancer.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<Report, BalancerError>>,
}

impl Running {
    /// In front of these backends. What follows the options is compiled once, not for each change of them.
    pub(crate) async fn start(
        backends: &[SocketAddr],
        change: impl FnOnce(&mut BalancerOptions),
    ) -> Running {
        let listed = backends.iter().map(|address| format!("http://{address}"));
        let mut options = BalancerOptions::new(Source::Listed(listed.collect()));
        options.server.threads = 1;
        options.server.own_files = false;
        options.metrics_listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        change(&mut options);
        Running::begin(options).await
    }

    async fn begin(options: BalancerOptions) -> Running {
        let (events, mut happened) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("balancer".to_owned());
        let (done, served) = oneshot::channel();
        thread
            .spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let on_event = Box::new(move |event| drop(events.send(event)));
                let shutdown = Box::pin(async { drop(stopped.await) });
                let serving = balancer::serve(options, on_event, shutdown);
                let _ = done.send(runtime.block_on(serving));
            })
            .unwrap();
        let served = tokio::spawn(async { served.await.expect("the balancer ends") });
        let mut address = None;
        let mut metrics = None;
        while address.is_none() || metrics.is_none() {
            match soon(happened.recv()).await {
                Some(Event::Ready(at)) => address = Some(at),
                Some(Event::Operable(at)) => metrics = Some(at),
                Some(_) => {}
                None => panic!("{:?}", served.await),
            }
        }
        Running { address: address.unwrap(), metrics: metrics.unwrap(), stop, served }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A figure of the metrics page.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (_, page) = testkit::http::get(self.metrics, "/metrics").await;
        let begin = format!("balancer_{name} ");
        let line = page.lines().find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_else(|| panic!("no {name} in {page}"));
        line[begin.len()..].parse().unwrap()
    }

    /// Waits until a figure has this value.
    pub(crate) async fn until_metric(&self, name: &str, value: f64) {
        soon(async {
            while self.metric(name).await != value {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Stops it.
    pub(crate) fn stop(self) -> JoinHandle<Result<Report, BalancerError>> {
        self.stop.send(()).unwrap();
        self.served
    }
}

/// What a scripted backend does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answers with these bytes and keeps the connection.
    Answer(Vec<u8>),
    /// Answers with these bytes and closes it.
    AnswerAndClose(Vec<u8>),
    /// Says nothing.
    Wait,
}

impl Act {
    pub(crate) fn ok(text: &str) -> Act {
        let length = text.len();
        Act::Answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}").into())
    }

    pub(crate) fn close(bytes: &str) -> Act {
        Act::AnswerAndClose(bytes.into())
    }
}

/// Function that gets each head of a request.
type Script = Arc<dyn Fn(&str) -> Act + Send + Sync>;

/// A backend that notes all heads of requests and bytes behind them, and acts by a script.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Backend {
    pub(crate) async fn start(act: Act) -> Backend {
        Backend::scripted(move |_| act.clone()).await
    }

    /// `script` is given each head.
    pub(crate) async fn scripted(script: impl Fn(&str) -> Act + Send + Sync + 'static) -> Backend {
        Backend::listen(Arc::new(script)).await
    }

    async fn listen(script: Script) -> Backend {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::default());
        let connections = Arc::new(Mutex::new(0));
        let backend =
            Backend { address, heads: Arc::clone(&heads), connections: Arc::clone(&connections) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *connections.lock().unwrap() += 1;
                tokio::spawn(serve(stream, Arc::clone(&heads), Arc::clone(&script)));
            }
        });
        backend
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn serve(mut stream: TcpStream, heads: Arc<Mutex<Vec<String>>>, script: Script) {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            match stream.read_buf(&mut bytes).await {
                Ok(1..) => continue,
                _ => return,
            }
        };
        let head = String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok())
            .unwrap_or(0);
        while bytes.len() < length {
            match stream.read_buf(&mut bytes).await {
                Ok(1..) => {}
                _ => return,
            }
        }
        bytes.drain(..length);
        heads.lock().unwrap().push(head.clone());
        match script(&head) {
            Act::Answer(answer) => stream.write_all(&answer).await.unwrap(),
            Act::AnswerAndClose(answer) => return stream.write_all(&answer).await.unwrap(),
            Act::Wait => std::future::pending().await,
        }
    }
}

/// Reads to the end of a response with a length; its status and body.
pub(crate) async fn response(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return (status, body.to_owned());
            }
        }
        let count = soon(stream.read_buf(&mut bytes)).await.unwrap();
        assert!(count > 0, "ended with {text:?}");
    }
}

/// A request without a body on a kept connection.
pub(crate) async fn request(stream: &mut TcpStream, method: &str, target: &str) -> (u16, String) {
    let text = format!("{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    response(stream).await
}

/// A worker of ours.
pub(crate) async fn worker(change: impl FnOnce(&mut WorkerOptions)) -> SocketAddr {
    let mut options = WorkerOptions::default();
    change(&mut options);
    begin_worker(options).await
}

async fn begin_worker(options: WorkerOptions) -> SocketAddr {
    let (ready, address) = oneshot::channel();
    let ready = Box::new(|address| ready.send(address).unwrap());
    let serving = worker::serve(options, ready, Box::pin(std::future::pending()));
    tokio::spawn(async { serving.await.unwrap() });
    soon(address).await.unwrap()
}

/// A server that sends each WebSocket message back.
pub(crate) async fn websocket_echo() -> SocketAddr {
    let for_ever = Box::pin(std::future::pending());
    echo_until(EchoOptions::default(), for_ever).await.0
}

/// An echo server with these options until `shutdown` resolves; its address and its end.
pub(crate) async fn echo_until(
    options: EchoOptions,
    shutdown: Shutdown,
) -> (SocketAddr, JoinHandle<Result<(), ServerError>>) {
    let (ready, address) = oneshot::channel();
    let ready = Box::new(|address| ready.send(address).unwrap());
    let served = tokio::spawn(echo::serve(options, ready, shutdown));
    (soon(address).await.unwrap(), served)
}
