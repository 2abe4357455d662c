//! What happens when the server of a bus, or a connection to it, is lost.

use rustix::process::Signal;

use super::*;
use support::{flush, got, next, publish, returns};

/// Three processes publish in rounds, and in each round something is cut by `cut`, which gets a process's number.
pub(crate) fn nothing_twice(buses: &[Arc<dyn Remote>], cut: impl Fn(usize) + Sync) {
    const EACH: u64 = 40;
    let barrier = Barrier::new(3);
    let total = AtomicU64::new(0);
    let found = at_once(buses, async |process, bus| {
        let mut channel = bus.subscribe(GAME);
        barrier.wait().await;
        let mut all = Vec::new();
        let mut last = 0;
        for round in 0..EACH {
            if round % 4 == process {
                cut(process as usize);
            }
            let mine = 1 + total.fetch_add(1, Ordering::SeqCst);
            publish(bus, GAME, || state(1, mine)).await;
            barrier.wait().await;
            // Everybody has the newest distribution before the next one comes, cut or not.
            let newest = total.load(Ordering::SeqCst);
            while last < newest {
                let found = next(&mut *channel).await;
                if let Got::Message(_, _, Some(total)) = found {
                    last = total;
                }
                all.push(found);
            }
            barrier.wait().await;
        }
        all
    });
    for all in found {
        let mut last = 0;
        for found in all {
            match found {
                Got::Lost(count) => last += count,
                Got::Message(seq, ..) => {
                    assert_eq!(seq, last + 1, "lost ones are counted exactly");
                    last = seq;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_flushed_server_does_not_lower_numbers() {
    for server in Server::each() {
        let old = server.open();
        let mut channel = old.subscribe(GAME);
        let mut returned = old.hub().returned();
        for total in 1..=5 {
            old.publish(GAME, state(1, total)).await.unwrap();
        }
        assert_eq!(old.publish(GAME, event(7, 1, 3)).await, Ok(true));
        up_to(&mut *channel, 7).await;
        flush(&server).await;
        // A process that began after that knows of nothing.
        let new = server.open();
        let mut new_channel = new.subscribe(GAME);
        assert_eq!(new.publish(GAME, state(3, 6)).await, Ok(true));
        returns(&mut returned).await;
        // It was dropped by the old one. The same is published again when games are touched.
        assert_eq!(new.publish(GAME, state(3, 6)).await, Ok(true));
        let mut found = next(&mut *channel).await;
        if found == Got::Lost(1) {
            found = next(&mut *channel).await;
        }
        assert_eq!(found, got(8, "distribution", Some(6)));
        let expected =
            [got(1, "distribution", Some(6)), Got::Lost(6), got(8, "distribution", Some(6))];
        assert_eq!(up_to(&mut *new_channel, 8).await, expected);
        assert_eq!(old.hub().metrics().raised.get(), 1);
        // Events are remembered as well.
        for bus in [&old, &new] {
            assert_eq!(bus.publish(GAME, event(7, 1, 3)).await, Ok(false));
        }
    }
}

#[tokio::test]
async fn a_process_that_only_read_the_numbers_keeps_them_too() {
    for server in Server::each() {
        let first = server.open();
        for total in 1..=5 {
            first.publish(GAME, state(1, total)).await.unwrap();
        }
        assert_eq!(first.publish(GAME, event(1, 1, 3)).await, Ok(true));
        let bus = server.open();
        drop(first);
        let mut channel = bus.subscribe(GAME);
        flush(&server).await;
        assert!(!publish(&*bus, GAME, || event(1, 1, 3)).await);
        assert!(publish(&*bus, GAME, || state(3, 1)).await);
        assert_eq!(next(&mut *channel).await, got(8, "distribution", Some(1)));
    }
}

#[test]
fn a_restarted_server_does_not_lower_numbers_whoever_is_first() {
    for server in Server::each() {
        let buses = [(); 3].map(|()| server.open());
        let server = Mutex::new(server);
        let barrier = Barrier::new(3);
        let total = AtomicU64::new(0);
        let found = at_once(&buses, async |process, bus| {
            let mut channel = bus.subscribe(GAME);
            let mut all = Vec::new();
            for round in 0..4 {
                barrier.wait().await;
                for _ in 0..8 {
                    let mine = 1 + total.fetch_add(1, Ordering::SeqCst);
                    publish(bus, GAME, || state(1, mine)).await;
                }
                barrier.wait().await;
                if round % 3 == process {
                    server.lock().unwrap().restart(|| ());
                }
            }
            // Games are touched until all have the newest.
            let newest = total.load(Ordering::SeqCst) + 1;
            loop {
                publish(bus, GAME, || state(1, newest)).await;
                let more = tokio::time::timeout(Duration::from_millis(20), next(&mut *channel));
                if let Ok(found) = more.await {
                    all.push(found.clone());
                    if matches!(found, Got::Message(_, _, Some(total)) if total == newest) {
                        break all;
                    }
                }
            }
        });
        for all in found {
            let mut last = 0;
            for found in &all {
                if let Got::Message(seq, ..) = found {
                    assert!(*seq > last, "{last} {all:?}");
                    last = *seq;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_frozen_server_is_unavailable_in_time_and_returns() {
    for server in Server::each() {
        let wait = Duration::from_millis(300);
        let options = BusOptions { wait, ..options(Claims::Atomic) };
        // On a busy machine so short a wait may pass before the first answer.
        let mut attempts = (0..20).map(|_| server.open_with(&options));
        let bus = attempts.find_map(Result::ok).unwrap();
        let mut channel = bus.subscribe(GAME);
        publish(&*bus, GAME, || state(1, 1)).await;
        let mut returned = bus.hub().returned();
        server.signal(Signal::STOP);
        for _ in 0..20 {
            let start = Instant::now();
            let claim = bus.claim(GAME, LONG).await;
            assert!(matches!(claim, Err(BusError::Unavailable(_))), "{claim:?}");
            let publication = bus.publish(GAME, event(1, 1, 1)).await;
            assert!(matches!(publication, Err(BusError::Unavailable(_))));
            assert!(start.elapsed() < wait * 4, "{:?}", start.elapsed());
        }
        server.signal(Signal::CONT);
        returns(&mut returned).await;
        // What was requested meanwhile may have been done, once.
        publish(&*bus, GAME, || state(1, 2)).await;
        publish(&*bus, GAME, || event(1, 1, 1)).await;
        let mut kinds = Vec::new();
        while kinds.len() < 4 {
            if let Got::Message(_, kind, _) = next(&mut *channel).await {
                kinds.push(kind);
            }
        }
        kinds.sort();
        assert_eq!(kinds, ["distribution", "distribution", "full_time", "settled"]);
    }
}
