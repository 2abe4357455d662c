//! The sending of a spool whose worker is gone.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{CarrierState, Link, RUN_OVER, Ways, sending};
use crate::log::Log;
use crate::nats::Nats;
use crate::signed::RunKeys;
use crate::spool::{AGE_MAX, Owner, Spool};
use crate::stream;

/// How often it is looked whether the run is over.
const OVER_LOOK: Duration = Duration::from_secs(30);
/// How often it is looked whether all was sent, when an agent waits for it.
const SENT_LOOK: Duration = Duration::from_millis(50);
/// Why nothing more is sent, and the spool stays.
const AGENT_ENDS: &str = "its agent ends";

/// The spool of a worker that is gone, on its way. It stays on the disk until the run is over, since NATS may lose
/// it.
pub(crate) struct AbandonedSpool(Link);

impl AbandonedSpool {
    /// Sends what is left, then why the worker died; until the run is over, or too old.
    pub(crate) fn send(
        nats: &Nats,
        owner: &Owner,
        keys: &RunKeys,
        spool: Spool,
        why: &str,
    ) -> AbandonedSpool {
        let ways = Ways::of_agent(&owner.run, &owner.agent);
        let age = spool.age();
        let shared = CarrierState::new(Log::Disk(spool));
        shared.state().abort = Some(why.to_owned());
        // A stream that was removed does not come back by what cannot be continued.
        let link = Link::new(nats, &ways, keys, &shared, None);
        nats.spawn(sending::send_all(link.clone()));
        nats.spawn(remove_in_the_end(link.clone(), age));
        AbandonedSpool(link)
    }

    /// Whether nothing more is to be done.
    pub(crate) fn is_over(&self) -> bool {
        self.0.shared.state().failed.is_some()
    }

    /// Waits until all is in the stream, and removes it from the disk. What is not sent after this time stays there for the
    /// next agent.
    pub(crate) async fn finish(self, time_max: Duration) {
        let shared = &self.0.shared;
        let is_sent = || {
            let state = shared.state();
            state.all_sent || state.failed.as_deref() == Some(RUN_OVER)
        };
        let sent = async {
            while !is_sent() {
                sleep(SENT_LOOK).await;
            }
        };
        let is_sent = timeout(time_max, sent).await.is_ok();
        shared.fail(AGENT_ENDS);
        if is_sent {
            shared.log().remove();
        }
    }
}

async fn remove_in_the_end(link: Link, age: Duration) {
    let begun = Instant::now();
    loop {
        sleep(OVER_LOOK).await;
        match link.shared.state().failed.as_deref() {
            None => {}
            Some(AGENT_ENDS) => return,
            Some(_) => break,
        }
        let is_old = age.saturating_add(begun.elapsed()) > AGE_MAX;
        if is_old || stream::is_over(&link.jet, &link.ways.run).await == Some(true) {
            break;
        }
    }
    link.shared.fail(RUN_OVER);
    link.shared.log().remove();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;
    use crate::testing::{Server, private_directory, wait_until};

    fn owner() -> Owner {
        Owner { server: "h:1".to_owned(), run: "r1".to_owned(), agent: "a1".to_owned() }
    }

    fn spool(root: &std::path::Path) -> Spool {
        let mut spool = Spool::create(root, &owner(), 1 << 20).unwrap();
        spool.append(b"reported").unwrap();
        spool
    }

    fn abandon(nats: &Nats, spool: Spool, why: &str) -> AbandonedSpool {
        AbandonedSpool::send(nats, &owner(), &RunKeys::default(), spool, why)
    }

    fn is_there(nats: &Nats) -> bool {
        nats.block(nats.jet.get_stream(names::stream("r1"))).is_ok()
    }

    #[test]
    fn what_was_sent_is_removed_when_its_agent_ends_and_the_rest_stays() {
        let Some(server) = Server::start() else {
            return;
        };
        let first = server.connect();
        let nats = server.connect();
        let root = private_directory();
        let rest = abandon(&first, spool(root.path()), "it was stopped");
        // Without the run's stream nothing can be sent.
        first.block(rest.finish(Duration::from_millis(500)));
        // The end of its process.
        drop(first);
        assert!(!is_there(&nats), "it was not made again");
        let (_, left) = Spool::find(root.path(), &owner()).expect("it is there for the next agent");
        nats.block(stream::create(&nats.jet, "r1", AGE_MAX)).unwrap();
        let rest = abandon(&nats, left, "it was stopped");
        nats.block(rest.finish(Duration::from_secs(20)));
        assert!(Spool::find(root.path(), &owner()).is_none());
        let messages = nats.block(async {
            let stream = nats.jet.get_stream(names::stream("r1")).await.unwrap();
            stream.cached_info().state.messages
        });
        assert_eq!(messages, 2, "what was reported, and why it ended");
    }

    #[test]
    fn a_stream_that_was_removed_does_not_come_back() {
        let Some(server) = Server::start() else {
            return;
        };
        let nats = server.connect();
        let root = private_directory();
        nats.block(stream::create(&nats.jet, "r1", AGE_MAX)).unwrap();
        let rest = abandon(&nats, spool(root.path()), "it was killed");
        wait_until(|| rest.0.shared.state().all_sent);
        nats.block(nats.jet.delete_stream(names::stream("r1"))).unwrap();
        let found = nats.block(stream::find(&nats.jet, "r1", rest.0.kept.as_deref()));
        assert!(matches!(found, stream::StreamState::Unknown));
        assert!(!is_there(&nats));
    }
}
