//! Symmetry reduction: states that differ only by the numbers of caches and lines count as one.

use super::{home_state, State, HOME_STATE};
use crate::check::layout::{home, with_home, Layout};
use crate::machine::{permutations, Directory};

/// Images of the directory's states under permutations of the caches.
pub(super) struct Symmetry {
    layout: Layout,
    /// Permutations of the caches, the identity included.
    orders: Vec<Vec<usize>>,
    /// By state and permutation: the image.
    images: Vec<u32>,
    /// By state and cache: the cache's part in it.
    roles: Vec<u32>,
}

impl Symmetry {
    pub(super) fn new(directory: &Directory, layout: Layout) -> Self {
        let roles = directory.states.iter().flat_map(|state| &state.roles);
        Self {
            layout,
            orders: permutations(layout.caches),
            images: directory.images.clone(),
            roles: roles.copied().collect(),
        }
    }

    /// The representative of a state among those that differ by the caches' numbers only.
    pub(super) fn canonical<const W: usize>(&self, state: &State<W>) -> State<W> {
        if self.layout.lines == 2 {
            return self.canonical_pair(state);
        }
        let caches = self.layout.caches;
        // Most states are in order, and without equal words.
        if (2..=caches).all(|i| state[i - 1] < state[i]) {
            return *state;
        }
        let home_state = home_state(home(state[0], 0));
        // Equal views are distinguished by what the home does with them, then by number.
        let key = |i: usize| {
            let role = self.roles[home_state * caches + i];
            u128::from(state[1 + i]) << 64 | u128::from(role) << 8 | i as u128
        };
        let mut keys = [u128::MAX; 3];
        for (i, slot) in keys.iter_mut().enumerate().take(caches) {
            *slot = key(i);
        }
        for (low, high) in [(0, 1), (1, 2), (0, 1)] {
            let (a, b) = (keys[low], keys[high]);
            (keys[low], keys[high]) = (a.min(b), a.max(b));
        }
        let number = |key: u128| usize::from(key as u8);
        let order = &keys[..caches];
        if order.iter().enumerate().all(|(i, &key)| number(key) == i) {
            return *state;
        }
        let mut image = *state;
        for (word, &key) in image[1..].iter_mut().zip(order) {
            *word = (key >> 64) as u64;
        }
        let same = |known: &Vec<usize>| known.iter().zip(order).all(|(&o, &k)| o == number(k));
        let order = self.orders.iter().position(same).unwrap_or(0);
        let next = self.images[home_state * self.orders.len() + order];
        let half = home(state[0], 0) & !HOME_STATE | next;
        image[0] = with_home(state[0], 0, half);
        image
    }

    /// The same for two lines: caches are permuted on both at once, and the lines are exchanged. Returns the least of
    /// the images.
    fn canonical_pair<const W: usize>(&self, state: &State<W>) -> State<W> {
        let mut least = *state;
        for (number, order) in self.orders.iter().enumerate() {
            let mut image = *state;
            for line in 0..2 {
                let half = home(state[0], line);
                let next = self.images[home_state(half) * self.orders.len() + number];
                image[0] = with_home(image[0], line, half & !HOME_STATE | next);
                for (cache, &from) in order.iter().enumerate() {
                    image[self.layout.word(line, cache)] = state[self.layout.word(line, from)];
                }
            }
            let mut swapped = image;
            swapped[0] = image[0].rotate_left(32);
            for cache in 0..self.layout.caches {
                swapped.swap(self.layout.word(0, cache), self.layout.word(1, cache));
            }
            least = least.min(image).min(swapped);
        }
        least
    }
}
