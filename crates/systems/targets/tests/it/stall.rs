//! The stalling server.

use std::time::Duration;

use server::ServerError;
use targets::stall::{self, StallOptions};
use testkit::http::{get, soon};
use tokio::sync::oneshot;
use tokio::time::Instant;

#[tokio::test]
async fn answers_wait_for_the_end_of_a_stall() {
    let mut options = StallOptions::default();
    options.delay = Duration::from_millis(2);
    options.stall = Duration::from_millis(150);
    options.every = Duration::from_millis(300);
    let (ready, address) = oneshot::channel();
    let (shutdown, stop) = oneshot::channel::<()>();
    let ready = Box::new(move |address| ready.send(address).unwrap());
    let stop = Box::pin(async { drop(stop.await) });
    let served = tokio::spawn(stall::serve(options.clone(), ready, stop));
    let address = soon(address).await.unwrap();
    // Requests back to back for two periods: each stall holds one of them for nearly its length.
    let start = Instant::now();
    let mut held = 0;
    let mut quick = 0;
    while start.elapsed() < options.every * 2 {
        let sent = Instant::now();
        assert_eq!(get(address, "/").await, (200, "ok\n".to_owned()));
        match sent.elapsed() {
            took if took >= Duration::from_millis(100) => held += 1,
            took => {
                assert!(took >= options.delay, "{took:?}");
                quick += 1;
            }
        }
    }
    assert!(held >= 1 && quick >= 1, "{held} held, {quick} quick");
    shutdown.send(()).unwrap();
    soon(served).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stall_without_end_is_refused() {
    let mut options = StallOptions::default();
    options.stall = options.every;
    let ready = Box::new(|_| panic!("not ready"));
    let result = stall::serve(options, ready, Box::pin(std::future::pending())).await;
    assert!(matches!(result, Err(ServerError::Options(_))));
}
