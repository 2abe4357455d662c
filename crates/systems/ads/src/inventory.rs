//! The ads that can be shown, and the choice of one for a request.
//!
//! A publisher's list is a stretch of all ads that begins at a place of its own. Some publishers
//! have long lists and advertisers that they do not show: choosing for them takes longer, so that
//! latencies have two modes.

use std::sync::atomic::{AtomicU32, Ordering};

use super::publishers::Publisher;
use server::Draws;

/// Ads of one campaign.
const ADS_PER_CAMPAIGN: usize = 50;
/// Ads of one advertiser.
const ADS_PER_ADVERTISER: usize = 500;
/// One in this many ads shown is any that may be shown, so that the performance of all becomes known.
const EXPLORE_ONE_IN: u64 = 16;
/// Weight of the rate that is assumed beforehand, in showings of the ad.
const PRIOR_SHOWN: f64 = 100.0;
/// The share of ads shown that end in a conversion, where nothing is known of a publisher.
const PRIOR_RATE: f64 = 0.001;
/// Advertisers that a publisher with a long list does not show; at most a quarter of all.
const BLOCKED_MAX: u64 = 8;
/// Numbers that publishers give parts of their traffic are taken modulo this.
const SUB_IDS: u32 = 128;

/// An ad's requirements of its viewers, and its performance so far.
#[derive(Debug)]
struct Ad {
    /// Payment for a conversion, in cents.
    bid: u32,
    /// A bit for each of 64 groups of countries.
    countries: u64,
    /// A bit for each of the publishers' parts of traffic.
    sub_ids: u128,
    shown: AtomicU32,
    converted: AtomicU32,
}

/// All ads and campaigns.
#[derive(Debug)]
pub(super) struct Inventory {
    ads: Vec<Ad>,
    /// How often each campaign was shown.
    campaigns: Vec<AtomicU32>,
    /// How often each may be.
    campaign_limit: u32,
    seed: u64,
}

/// A publisher as the choice of ads knows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct List {
    pub(super) is_long: bool,
    first: usize,
    len: usize,
    /// In rising order.
    blocked: Vec<u32>,
    /// Conversions of an ad that was shown, as far as they are known beforehand.
    prior_rate: f64,
}

/// How long lists are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) short: usize,
    pub(super) long: usize,
    /// Share of publishers that have long lists, from 0 to 1.
    pub(super) long_share: f64,
}

/// How an ad is looked for.
#[derive(Debug)]
pub(super) enum Taste {
    /// The one that promises most.
    Best,
    /// Any that may be shown.
    Any(Draws),
}

/// The user to whom an ad is to be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewer {
    country: u64,
    sub_id: u128,
}

impl Viewer {
    /// `country`: two letters; `sub_id`: a number that the publisher gives to its parts.
    pub(super) fn new(country: [u8; 2], sub_id: u32) -> Viewer {
        let group = Draws::from_keys(&[u64::from(u16::from_be_bytes(country))]).bits() % 64;
        Viewer { country: 1 << group, sub_id: 1 << (sub_id % SUB_IDS) }
    }
}

impl Inventory {
    /// `count` ads that follow from the seed.
    pub(super) fn new(count: usize, campaign_limit: u32, seed: u64) -> Inventory {
        let ads = (0..count as u64).map(|number| {
            let mut draws = Draws::from_keys(&[seed, number]);
            Ad {
                bid: 1 + (draws.bits() % 500) as u32,
                // Three of four countries, and of the parts of traffic.
                countries: draws.bits() | draws.bits(),
                sub_ids: draws.wide() | draws.wide(),
                shown: AtomicU32::new(0),
                converted: AtomicU32::new(0),
            }
        });
        Inventory {
            ads: ads.collect(),
            campaigns: (0..count.div_ceil(ADS_PER_CAMPAIGN)).map(|_| AtomicU32::new(0)).collect(),
            campaign_limit,
            seed,
        }
    }

    /// The list of a publisher.
    pub(super) fn list(&self, key: &str, known: Option<&Publisher>, lengths: &Lengths) -> List {
        let mut draws = Draws::from_text(self.seed, key);
        let is_long = draws.unit() < lengths.long_share;
        let advertisers = self.ads.len().div_ceil(ADS_PER_ADVERTISER) as u64;
        let mut blocked = Vec::new();
        if is_long {
            blocked.extend(
                (0..BLOCKED_MAX.min(advertisers / 4)).map(|_| (draws.bits() % advertisers) as u32),
            );
            blocked.sort_unstable();
            blocked.dedup();
        }
        let first = (draws.bits() % self.ads.len() as u64) as usize;
        let len = if is_long { lengths.long } else { lengths.short }.min(self.ads.len());
        // A list may lie within the ads of a few advertisers; nobody blocks all that their list has.
        let middle = advertiser((first + len / 2) % self.ads.len());
        blocked.retain(|&blocked| blocked != middle);
        List {
            is_long,
            first,
            len,
            blocked,
            prior_rate: known.map_or(PRIOR_RATE, |publisher| publisher.steps.iter().product()),
        }
    }

    /// The ad that promises most to who sees it, or now and then another that may be shown; it
    /// counts as shown. `None`: there is none.
    pub(super) fn choose(&self, list: &List, viewer: Viewer, offer: u64) -> Option<u32> {
        let mut taste = self.taste(offer);
        loop {
            let chosen = self.look(list, viewer, &mut taste)?;
            // Somebody else may have taken the campaign's last place meanwhile; then it is left
            // out of the next look.
            let campaign = &self.campaigns[self.campaign(chosen)];
            let took = campaign.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |shown| {
                (shown < self.campaign_limit).then(|| shown + 1)
            });
            if took.is_ok() {
                self.ads[chosen as usize].shown.fetch_add(1, Ordering::Relaxed);
                return Some(chosen);
            }
        }
    }

    /// Undoes what [`choose`](Self::choose) counted: the ad was not shown after all.
    pub(super) fn give_back(&self, ad: u32) {
        let Some(known) = self.ads.get(ad as usize) else {
            return;
        };
        for count in [&self.campaigns[self.campaign(ad)], &known.shown] {
            // It was counted, so it is above zero.
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// How the ad for an offer is looked for.
    pub(super) fn taste(&self, offer: u64) -> Taste {
        let mut draws = Draws::from_keys(&[self.seed, offer]);
        match draws.bits().is_multiple_of(EXPLORE_ONE_IN) {
            true => Taste::Any(draws),
            false => Taste::Best,
        }
    }

    /// The ad that promises most to who sees it, or another that may be shown; nothing counts by that.
    pub(super) fn look(&self, list: &List, viewer: Viewer, taste: &mut Taste) -> Option<u32> {
        let any = match taste {
            Taste::Best => None,
            Taste::Any(draws) => Some(draws),
        };
        self.find(list, viewer, any).map(|ad| ad as u32)
    }

    fn find(&self, list: &List, viewer: Viewer, mut any: Option<&mut Draws>) -> Option<usize> {
        let mut best = None;
        let mut best_score = f64::NEG_INFINITY;
        let mut seen = 0;
        for step in 0..list.len {
            let number = (list.first + step) % self.ads.len();
            if !self.may_be_shown(number, list, viewer) {
                continue;
            }
            let score = match &mut any {
                // Each is the chosen one of those seen so far with the same probability
                // (reservoir sampling: Vitter 1985, algorithm R).
                Some(draws) => {
                    seen += 1;
                    if draws.bits().is_multiple_of(seen) {
                        f64::INFINITY
                    } else {
                        f64::NEG_INFINITY
                    }
                }
                None => self.ads[number].score(list.prior_rate),
            };
            if best.is_none() || score > best_score || score == f64::INFINITY {
                (best, best_score) = (Some(number), score);
            }
        }
        best
    }

    fn may_be_shown(&self, number: usize, list: &List, viewer: Viewer) -> bool {
        let ad = &self.ads[number];
        ad.countries & viewer.country != 0
            && ad.sub_ids & viewer.sub_id != 0
            && self.campaigns[number / ADS_PER_CAMPAIGN].load(Ordering::Relaxed)
                < self.campaign_limit
            && list.blocked.binary_search(&advertiser(number)).is_err()
    }

    /// An ad's advertiser.
    pub(super) fn advertiser(&self, ad: u32) -> u32 {
        advertiser(ad as usize)
    }

    /// An ad that was shown did what its advertiser pays for.
    pub(super) fn converted(&self, ad: u32) {
        if let Some(ad) = self.ads.get(ad as usize) {
            ad.converted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The campaign of an ad.
    pub(super) fn campaign(&self, ad: u32) -> usize {
        ad as usize / ADS_PER_CAMPAIGN
    }

    /// How often the ads of each are shown.
    pub(super) fn campaign_limit(&self) -> u32 {
        self.campaign_limit
    }

    /// How often a campaign was shown by all who share it.
    pub(super) fn set_campaign_shown(&self, campaign: usize, shown: u32) {
        if let Some(known) = self.campaigns.get(campaign) {
            known.store(shown, Ordering::Relaxed);
        }
    }

    /// How often an ad was shown by all who share it.
    pub(super) fn set_shown(&self, ad: u32, shown: u32) {
        if let Some(known) = self.ads.get(ad as usize) {
            known.shown.store(shown, Ordering::Relaxed);
        }
    }

    /// How often an ad converted for all who share it.
    pub(super) fn set_converted(&self, ad: u32, converted: u32) {
        if let Some(known) = self.ads.get(ad as usize) {
            known.converted.store(converted, Ordering::Relaxed);
        }
    }

    /// Values reported before are not known any more.
    pub(super) fn forget(&self) {
        for ad in &self.ads {
            ad.shown.store(0, Ordering::Relaxed);
            ad.converted.store(0, Ordering::Relaxed);
        }
        for campaign in &self.campaigns {
            campaign.store(0, Ordering::Relaxed);
        }
    }

    /// Adds the showings and conversions of an ad from before this process began.
    pub(super) fn recall(&self, ad: u32, shown: u32, converted: u32) {
        if let Some(known) = self.ads.get(ad as usize) {
            known.shown.fetch_add(shown, Ordering::Relaxed);
            known.converted.fetch_add(converted, Ordering::Relaxed);
            self.campaigns[ad as usize / ADS_PER_CAMPAIGN].fetch_add(shown, Ordering::Relaxed);
        }
    }
}

impl Ad {
    /// Expected earnings of a showing: the mean of the ad's conversions and of the rate assumed beforehand,
    /// weighted by how often the ad was shown.
    fn score(&self, prior_rate: f64) -> f64 {
        let converted = f64::from(self.converted.load(Ordering::Relaxed));
        let shown = f64::from(self.shown.load(Ordering::Relaxed));
        f64::from(self.bid) * (converted + PRIOR_SHOWN * prior_rate) / (shown + PRIOR_SHOWN)
    }
}

fn advertiser(ad: usize) -> u32 {
    // A list has far fewer ads than there are numbers.
    (ad / ADS_PER_ADVERTISER) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: Lengths = Lengths { short: 20, long: 2_000, long_share: 0.5 };

    fn viewer() -> Viewer {
        Viewer::new(*b"US", 7)
    }

    #[test]
    fn lists_follow_from_key_and_seed_and_about_half_are_long() {
        let inventory = Inventory::new(5_000, 10, 1);
        let lists: Vec<List> =
            (0..200).map(|n| inventory.list(&format!("p{n}"), None, &LENGTHS)).collect();
        assert_eq!(lists[3], inventory.list("p3", None, &LENGTHS));
        let long = lists.iter().filter(|list| list.is_long).count();
        // Binomial, four standard deviations.
        assert!((72..=128).contains(&long), "{long}");
        assert!(lists.iter().all(|list| list.len == if list.is_long { 2_000 } else { 20 }));
    }

    #[test]
    fn every_publisher_has_something_to_show() {
        let inventory = Inventory::new(50_000, 1_000, 1);
        // Shorter than what one advertiser has.
        let lengths = Lengths { long: 200, long_share: 1.0, ..LENGTHS };
        for publisher in 0..2_000 {
            let list = inventory.list(&format!("p{publisher}"), None, &lengths);
            assert!(inventory.choose(&list, viewer(), publisher).is_some(), "{list:?}");
        }
    }

    #[test]
    fn a_campaign_is_shown_no_more_often_than_it_may_be() {
        let inventory = Inventory::new(40, 10, 1);
        let list = inventory.list("p", None, &LENGTHS);
        // One campaign for all forty ads.
        let choose = |offer| inventory.choose(&list, viewer(), offer);
        let shown: Vec<u32> = (0..30).filter_map(choose).collect();
        assert_eq!(shown.len(), 10);
        // A place that is given back can be taken again.
        inventory.give_back(shown[3]);
        assert_eq!((30..60).filter_map(choose).count(), 1);
    }

    #[test]
    fn what_converts_is_shown_more_often() {
        let inventory = Inventory::new(1_000, 1_000_000, 1);
        let list = inventory.list("p", None, &Lengths { long_share: 0.0, ..LENGTHS });
        let fits: Vec<u32> = (0..list.len)
            .map(|step| (list.first + step) % 1_000)
            .filter(|&number| inventory.may_be_shown(number, &list, viewer()))
            .map(|number| number as u32)
            .collect();
        let good = fits[fits.len() / 2];
        for _ in 0..100 {
            inventory.converted(good);
        }
        let chosen: Vec<u32> =
            (0..160).filter_map(|offer| inventory.choose(&list, viewer(), offer)).collect();
        let often = chosen.iter().filter(|&&ad| ad == good).count();
        assert!(often > 120, "{often} of {}", chosen.len());
        // And yet the others are tried.
        assert!(often < chosen.len());
        assert!(chosen.iter().all(|ad| fits.contains(ad)));
    }

    #[test]
    fn an_inventory_keeps_its_counts_after_a_restart() {
        let inventory = Inventory::new(40, 10, 1);
        inventory.recall(3, 10, 2);
        inventory.recall(4_000_000, 1, 1);
        let list = inventory.list("p", None, &LENGTHS);
        assert_eq!(inventory.choose(&list, viewer(), 1), None);
    }
}
