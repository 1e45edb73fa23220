//! A set of task ids, stored as pages of bits, because Spark numbers tasks without gaps. Ids that are far apart need a
//! page each.

use foldhash::HashMap;

const WORDS: usize = 64;
const BITS: i64 = 64;
const PAGE: i64 = BITS * WORDS as i64;

/// A set of integers with few gaps.
#[derive(Debug, Clone, Default)]
pub struct TaskIdSet {
    pages: HashMap<i64, Box<[u64; WORDS]>>,
    /// The page of the last id, because ids are almost in order.
    last: Option<(i64, Box<[u64; WORDS]>)>,
}

impl TaskIdSet {
    /// Adds `id`. Returns false if the set already contains it.
    #[inline]
    pub fn insert(&mut self, id: i64) -> bool {
        let (page, bit) = (id.div_euclid(PAGE), id.rem_euclid(PAGE));
        if self.last.as_ref().is_none_or(|(number, _)| *number != page) {
            self.load_page(page);
        }
        let Some((_, words)) = &mut self.last else { return true };
        let (word, mask) = ((bit / BITS) as usize, 1u64 << (bit % BITS));
        let is_new = words[word] & mask == 0;
        words[word] |= mask;
        is_new
    }

    #[cold]
    fn load_page(&mut self, page: i64) {
        self.store_page();
        let words = self.pages.remove(&page).unwrap_or_else(|| Box::new([0; WORDS]));
        self.last = Some((page, words));
    }

    fn store_page(&mut self) {
        if let Some((page, words)) = self.last.take() {
            self.pages.insert(page, words);
        }
    }

    /// Number of pages; each takes 512 bytes.
    pub fn pages(&self) -> usize {
        self.pages.len() + usize::from(self.last.is_some())
    }

    /// Adds all ids of `others`. Returns the number of ids that both sets contained.
    pub fn append(&mut self, mut others: TaskIdSet) -> u64 {
        self.store_page();
        others.store_page();
        let mut common = 0;
        for (page, theirs) in others.pages {
            let ours = self.pages.entry(page).or_insert_with(|| Box::new([0; WORDS]));
            for (our, their) in ours.iter_mut().zip(theirs.iter()) {
                common += u64::from((*our & their).count_ones());
                *our |= their;
            }
        }
        common
    }

    /// Returns the number of ids of this set that are not in `others`.
    pub fn count_missing(&mut self, others: &mut TaskIdSet) -> u64 {
        self.store_page();
        others.store_page();
        let nothing = [0; WORDS];
        self.pages
            .iter()
            .flat_map(|(page, ours)| {
                ours.iter()
                    .zip(others.pages.get(page).map_or(&nothing, |theirs| theirs))
            })
            .map(|(our, their)| u64::from((our & !their).count_ones()))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        /// The counts are equal to those of a hash set, even after two sets are merged.
        #[test]
        fn counts_equal_those_of_a_hash_set(
            one in prop::collection::vec(prop_oneof![-10i64..9000, any::<i64>()], 0..100),
            other in prop::collection::vec(prop_oneof![-10i64..9000, any::<i64>()], 0..100),
        ) {
            let (mut ours, mut theirs) = (TaskIdSet::default(), TaskIdSet::default());
            let (mut our_set, mut their_set) = (HashSet::new(), HashSet::new());
            for id in &one {
                prop_assert_eq!(ours.insert(*id), our_set.insert(*id));
            }
            for id in &other {
                prop_assert_eq!(theirs.insert(*id), their_set.insert(*id));
            }
            prop_assert_eq!(ours.count_missing(&mut theirs), our_set.difference(&their_set).count() as u64);
            prop_assert_eq!(ours.append(theirs), our_set.intersection(&their_set).count() as u64);
        }
    }
}
