//! A planted fault: a share of the requests is answered late.
//!
//! A market is as fast as it can be. Who wants to know whether a comparison of runs finds a
//! regression needs one whose size is known.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::options::MarketOptions;
use server::Draws;

/// Which requests are held up, and for how long.
#[derive(Debug)]
pub(crate) struct Delay {
    delay: Duration,
    share: f64,
    seed: u64,
    requests: AtomicU64,
}

impl Delay {
    pub(crate) fn new(options: &MarketOptions) -> Self {
        Self {
            delay: options.delay,
            share: options.delay_share,
            seed: options.seed,
            requests: AtomicU64::new(0),
        }
    }

    /// Holds the request up if it is one of those.
    pub(crate) async fn hold_up(&self) {
        if !self.delay.is_zero() && self.strikes() {
            tokio::time::sleep(self.delay).await;
        }
    }

    fn strikes(&self) -> bool {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Draws::skipping(self.seed, number).unit() < self.share
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    fn delay(share: f64) -> Delay {
        Delay::new(&MarketOptions {
            delay: Duration::from_millis(3),
            delay_share: share,
            ..Default::default()
        })
    }

    #[test]
    fn the_share_is_that_of_the_option() {
        let fault = delay(0.1);
        let struck = (0..100_000).filter(|_| fault.strikes()).count();
        // Binomial with a standard deviation of 95.
        assert!((9_600..10_400).contains(&struck), "{struck}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_struck_request_waits_and_no_other() {
        let start = Instant::now();
        delay(0.0).hold_up().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        delay(1.0).hold_up().await;
        assert_eq!(start.elapsed(), Duration::from_millis(3));
    }
}
