//! A worker over real sockets.

use std::time::Duration;

use running::{Running, options};
use serde_json::Value;
use targets::worker::Cpu;
use testkit::http::{get, raw, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

mod running;

#[tokio::test]
async fn an_answer_has_its_work_and_queueing_time() {
    let mut options = options(30.0, 1, 10);
    (options.name, options.region) = ("US-0".to_owned(), "us".to_owned());
    let worker = Running::start(options).await;
    let response =
        raw(worker.address, b"GET /work HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert!(head.contains("x-worker: US-0") && head.contains("x-region: us"));
    assert!(head.contains(&format!("x-work-ms: {}", body["work_ms"])), "{head}");
    let work = body["work_ms"].as_f64().unwrap();
    assert!((30.0..60.0).contains(&work), "{work} ms");
    assert!(body["queue_ms"].as_f64().unwrap() < 10.0);
    // Two at once: one of them waits for the other.
    let (one, two) = tokio::join!(worker.work(), worker.work());
    let queued = [one, two].map(|(_, body)| body["queue_ms"].as_f64().unwrap());
    let most = queued[0].max(queued[1]);
    let least = queued[0].min(queued[1]);
    assert!(least < 10.0 && most > 20.0, "{queued:?}");
    assert_eq!(worker.stop().await.done, 3);
}

#[tokio::test]
async fn a_full_queue_refuses() {
    let worker = Running::start(options(300.0, 1, 1)).await;
    let (one, two, three) = tokio::join!(worker.work(), worker.work(), worker.work());
    let mut statuses = [one, two, three].map(|(status, _)| status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 503]);
    let (_, load) = get(worker.address, "/load").await;
    let load: Value = serde_json::from_str(&load).unwrap();
    assert_eq!(load["in_flight"], 0);
    assert!(load["latency_ms"].as_f64().unwrap() >= 300.0, "{load}");
    let (status, metrics) = get(worker.address, "/metrics").await;
    assert_eq!(status, 200);
    assert!(metrics.contains("\nworker_requests_refused_total 1\n"));
    let report = worker.stop().await;
    assert_eq!((report.done, report.refused), (2, 1));
}

#[tokio::test]
async fn a_client_that_leaves_gives_up_its_place() {
    let worker = Running::start(options(60_000.0, 1, 0)).await;
    let mut leaving = TcpStream::connect(worker.address).await.unwrap();
    leaving.write_all(b"GET /work HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let in_flight = || async {
        let (_, load) = get(worker.address, "/load").await;
        let load: Value = serde_json::from_str(&load).unwrap();
        load["in_flight"].as_u64().unwrap()
    };
    soon(async { while in_flight().await != 1 {} }).await;
    drop(leaving);
    soon(async { while in_flight().await != 0 {} }).await;
}

#[tokio::test]
async fn errors_take_no_work() {
    let mut options = options(60_000.0, 1, 0);
    options.error_rate = 1.0;
    let worker = Running::start(options).await;
    let (status, body) = worker.work().await;
    assert_eq!((status, &body["error"]), (500, &Value::from("failed")));
    assert_eq!(worker.stop().await.failed, 1);
}

#[tokio::test]
async fn a_frozen_worker_answers_nothing() {
    let mut options = options(1.0, 1, 0);
    options.pace.freeze_from = Some(Duration::ZERO);
    options.pace.freeze_for = Duration::from_millis(300);
    let before = Instant::now();
    let worker = Running::start(options).await;
    assert_eq!(get(worker.address, "/healthz").await.0, 200);
    assert!(before.elapsed() >= Duration::from_millis(300));
    let (_, body) = worker.work().await;
    assert!(body["work_ms"].as_f64().unwrap() < 100.0);
}

#[tokio::test]
async fn cpu_can_be_burned() {
    let mut options = options(20.0, 1, 5);
    options.cpu = Cpu::Burn;
    let worker = Running::start(options).await;
    let (status, body) = worker.work().await;
    let work = body["work_ms"].as_f64().unwrap();
    assert!(status == 200 && work >= 20.0, "{body}");
}

#[tokio::test]
async fn bodies_are_taken_whole() {
    let worker = Running::start(options(1.0, 1, 0)).await;
    // The next request on the connection is read after the body of the first.
    let mut stream = TcpStream::connect(worker.address).await.unwrap();
    let request = "POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello\
                   GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    assert!(text.ends_with("ready\n"), "{text}");
}

#[tokio::test]
async fn a_restart_is_a_gap_and_a_cold_start() {
    let mut options = options(10.0, 1, 10);
    options.restart_from = Some(Duration::from_millis(300));
    options.restart_for = Duration::from_millis(300);
    // Half the speed for a minute.
    (options.pace.warm_up, options.pace.cold_speed) = (Duration::from_secs(60), 0.5);
    let worker = Running::start(options).await;
    assert_eq!(worker.work().await.0, 200);
    let reached = || async { TcpStream::connect(worker.address).await.is_ok() };
    soon(async { while reached().await {} }).await;
    soon(async { while !reached().await {} }).await;
    let (_, load) = get(worker.address, "/load").await;
    let load: Value = serde_json::from_str(&load).unwrap();
    assert_eq!(load["done"], 0, "{load}");
    let (_, body) = worker.work().await;
    assert!(body["work_ms"].as_f64().unwrap() > 19.0, "{body}");
    let report = worker.stop().await;
    assert_eq!((report.done, report.restarts), (2, 1));
}
