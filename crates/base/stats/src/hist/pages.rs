//! Counters of buckets in pages, made on first use.

use super::BUCKETS;

/// Buckets of a page.
pub(super) const PAGE: usize = 256;
const PAGES: usize = BUCKETS / PAGE;
const _: () = assert!(PAGES < u8::MAX as usize, "a page's place fits a byte");

#[derive(Clone)]
pub(super) struct Pages {
    /// For each page of buckets, one more than its place in `counters`; 0: not made.
    places: [u8; PAGES],
    pub(super) counters: Vec<[u64; PAGE]>,
}

impl Pages {
    pub(super) fn new() -> Pages {
        Pages { places: [0; PAGES], counters: Vec::new() }
    }

    #[inline]
    pub(super) fn add(&mut self, bucket: usize, n: u64) {
        self.page(bucket / PAGE)[bucket % PAGE] += n;
    }

    pub(super) fn merge(&mut self, other: &Pages) {
        for (page, theirs) in other.made() {
            let ours = self.page(page);
            for (our, their) in ours.iter_mut().zip(theirs) {
                *our += their;
            }
        }
    }

    /// All counters are 0 again; the pages stay.
    pub(super) fn clear(&mut self) {
        self.counters.iter_mut().for_each(|page| page.fill(0));
    }

    /// The counts of this bucket and of those below it.
    pub(super) fn count_at_most(&self, bucket: usize) -> u64 {
        let page = bucket / PAGE;
        let offset = bucket % PAGE;
        let made = self.made().take_while(|&(number, _)| number <= page);
        let counts = made.map(|(number, counters)| match number < page {
            true => counters.iter().sum::<u64>(),
            false => counters[..=offset].iter().sum(),
        });
        counts.sum()
    }

    /// The bucket that counted the number of this rank (1: the least); `None`: there are fewer.
    pub(super) fn bucket_at_rank(&self, rank: u64) -> Option<usize> {
        let mut below = 0;
        for (page, counters) in self.made() {
            // Most pages end below it.
            let counted: u64 = counters.iter().sum();
            if below + counted < rank {
                below += counted;
                continue;
            }
            let reached = counters.iter().position(|&count| {
                below += count;
                below >= rank
            });
            return reached.map(|offset| page * PAGE + offset);
        }
        None
    }

    /// The buckets that counted something, from the least, and how often.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.made().flat_map(|(page, counters)| {
            let counted = counters.iter().enumerate().filter(|&(_, &count)| count != 0);
            counted.map(move |(offset, &count)| (page * PAGE + offset, count))
        })
    }

    /// The pages that were made, from the least buckets, with their numbers.
    fn made(&self) -> impl Iterator<Item = (usize, &[u64; PAGE])> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(page, &place)| {
            let place = usize::from(place).checked_sub(1)?;
            Some((page, &self.counters[place]))
        })
    }

    #[inline]
    fn page(&mut self, page: usize) -> &mut [u64; PAGE] {
        if self.places[page] == 0 {
            self.make_page(page);
        }
        &mut self.counters[usize::from(self.places[page]) - 1]
    }

    #[cold]
    fn make_page(&mut self, page: usize) {
        self.counters.push([0; PAGE]);
        self.places[page] = self.counters.len() as u8;
    }
}
