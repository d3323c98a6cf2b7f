//! Chooses the next step among the possible ones.

/// In order without a seed; with one, in an order that the seed determines.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    state: Option<u64>,
}

impl Schedule {
    pub(super) fn new(seed: Option<u64>) -> Self {
        Self { state: seed }
    }

    /// One of `choices` (at least one): the first without a seed.
    pub(super) fn pick(&mut self, choices: usize) -> usize {
        match &mut self.state {
            None => 0,
            Some(state) => (split_mix(state) % choices as u64) as usize,
        }
    }

    /// Up to `most` (at least one): all without a seed.
    pub(super) fn portion(&mut self, most: u64) -> u64 {
        match &mut self.state {
            None => most,
            Some(state) => 1 + split_mix(state) % most,
        }
    }

    /// Occasionally true; never without a seed.
    pub(super) fn whim(&mut self) -> bool {
        self.state
            .as_mut()
            .is_some_and(|state| split_mix(state) & 3 == 0)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
