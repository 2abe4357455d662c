use super::*;
use crate::wan::link::{Backlog, Loss, Rate};
use crate::wan::table::{ACCESS, Losses, TABLES};

#[test]
fn distances_and_losses_are_as_the_forwarders() {
    for table in TABLES {
        assert_eq!(suits(&table.links(Losses::ByDelay)), Suits::Exactly);
    }
    let bursts =
        Loss::GilbertElliott { good_to_bad: 0.1, bad_to_good: 0.1, loss_good: 0.0, loss_bad: 0.5 };
    let link =
        Link { loss: bursts, reorder: 0.1, jitter: Jitter::Normal { sd_ns: 5 }, ..Link::new(10) };
    assert_eq!(suits(&[link, Link { cut: true, ..link }]), Suits::Exactly);
}

#[test]
fn jitter_and_rates_are_different() {
    let jitter = Link { jitter: Jitter::Normal { sd_ns: 5 }, ..Link::new(10) };
    let rate = Link {
        rate: Some(Rate { bits_per_s: 1_000_000, backlog: Backlog::Bytes(1) }),
        ..Link::new(10)
    };
    assert_eq!(suits(&[jitter]), Suits::Differently(vec![ORDER]));
    assert_eq!(suits(&[rate, Link::new(1), jitter]), Suits::Differently(vec![ORDER, QUEUE]));
}

#[test]
fn access_links_and_other_distributions_cannot_be_had() {
    for access in ACCESS {
        let link = Link::new(10).through(&access.down);
        assert_eq!(suits(&[Link::new(1), link]), Suits::No(EACH_FLOW));
    }
    let uniform = Link { jitter: Jitter::Uniform { ns: 5 }, ..Link::new(10) };
    assert_eq!(suits(&[uniform]), Suits::No(DISTRIBUTION));
}
