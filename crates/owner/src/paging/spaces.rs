//! Address spaces: creation, and teardown with everything in them.

use super::pump::Pump;
use crate::message::TranslationMode;
use crate::OwnerOptions;
use card::registers::{self, space::mode};
use card::Card;
use error::Error;
use pager::Pager;
use units::{Asid, CardDescription, PageSizes, Picoseconds, SpacePlacement, Stripe};

/// Stripe granule: contiguous bytes of a page on one channel, the maximum size of a
/// burst.
const STRIPE_GRANULE: u64 = 4096;

/// The numbers of address spaces in the shell.
#[derive(Debug)]
pub(super) struct Spaces {
    used: Vec<bool>,
    /// Spaces whose last page has not left: a file system has not answered.
    leaving: Vec<Asid>,
    /// Translation mode of each space, as in its register.
    translations: Vec<TranslationMode>,
}

impl Spaces {
    /// Creates `count` free spaces.
    pub(super) fn new(count: u8) -> Self {
        Self {
            used: vec![false; usize::from(count)],
            leaving: Vec::new(),
            translations: vec![TranslationMode::Both; usize::from(count)],
        }
    }

    fn count(&self) -> u8 {
        self.used.len() as u8
    }

    /// Takes the first free space.
    fn take(&mut self) -> Option<Asid> {
        let number = self.used.iter().position(|used| !used)?;
        self.used[number] = true;
        Asid::new(number as u8)
    }

    fn give_back(&mut self, asid: Asid) {
        if let Some(used) = self.used.get_mut(usize::from(asid.get())) {
            *used = false;
        }
    }

    /// Translation mode of a space.
    pub(super) fn translation(&self, asid: Asid) -> TranslationMode {
        let mode = self.translations.get(usize::from(asid.get()));
        mode.copied().unwrap_or_default()
    }

    fn translate(&mut self, asid: Asid, mode: TranslationMode) {
        if let Some(of_space) = self.translations.get_mut(usize::from(asid.get())) {
            *of_space = mode;
        }
    }

    /// Sets the translation mode of a space that is not enabled.
    fn set_translation(
        &mut self,
        card: &mut dyn Card,
        asid: Asid,
        mode: TranslationMode,
    ) -> Result<(), Error> {
        if self.translation(asid) != mode {
            let bits = match mode {
                TranslationMode::Both => 0,
                TranslationMode::Table => mode::L1_OFF.put(1),
                TranslationMode::Tlb => mode::WALKER_OFF.put(1),
            };
            let register = registers::SPACE.at(asid.get().into()) + registers::space::MODE;
            card.write_register(register, bits)?;
            self.translate(asid, mode);
        }
        Ok(())
    }

    /// Takes a number for a new space with this translation mode.
    ///
    /// # Errors
    /// The card does not support the mode, or has no free space.
    pub(super) fn begin(
        &mut self,
        pump: &mut Pump,
        card: &mut dyn Card,
        mode: TranslationMode,
    ) -> Result<Asid, Error> {
        can_translate(card.description(), mode)?;
        let asid = self.take_free(pump)?;
        let set = self.set_translation(card, asid, mode);
        set.inspect_err(|_| self.free(pump, asid))?;
        Ok(asid)
    }

    /// Takes a free number for a new space.
    fn take_free(&mut self, pump: &mut Pump) -> Result<Asid, Error> {
        let spaces = self.count();
        // Spaces that have not left stay in the list.
        let leaving = std::mem::take(&mut self.leaving);
        leaving.into_iter().for_each(|asid| self.free(pump, asid));
        self.take().ok_or(Error::NoFreeSpace { spaces })
    }

    /// Frees a number whose space has ended, or was not created.
    pub(super) fn free(&mut self, pump: &mut Pump, asid: Asid) {
        match pump.end_share(asid) {
            true => self.give_back(asid),
            false => self.leaving.push(asid),
        }
    }
}

/// Whether the card supports this translation mode for its spaces.
fn can_translate(card: &CardDescription, mode: TranslationMode) -> Result<(), Error> {
    // A card without time supports every mode, and has no TLBs to describe.
    let has_l1s = card.l1_sizes != PageSizes::default() || card.clock_period == Picoseconds::ZERO;
    let rule = match mode {
        TranslationMode::Both => return Ok(()),
        _ if !card.translated => "kernels use card addresses there",
        TranslationMode::Table if !card.table_walks => "its shell has no walker (max_walks is 0)",
        TranslationMode::Tlb if !has_l1s => "its shell has no L1 TLBs",
        TranslationMode::Table | TranslationMode::Tlb => return Ok(()),
    };
    Err(Error::NoSuchTranslation { mode, rule })
}

/// Placement of the pages of a space that requests this placement.
pub(super) fn placement(
    card: &CardDescription,
    options: &OwnerOptions,
    pager: &Pager,
    asked: SpacePlacement,
) -> SpacePlacement {
    let alike = card.memories.len() <= 1 && card.translated;
    // Pages are merged into larger ones if they are contiguous, which striped ones are
    // not.
    let page = options.largest_page();
    let joins = card.l1_reach.iter().any(|l1| l1.page > page);
    let anywhere = asked == SpacePlacement::Anywhere;
    if !(anywhere && options.striped && alike) || joins || card.clock_period == Picoseconds::ZERO {
        return asked;
    }
    let striped = Stripe::new(STRIPE_GRANULE, card.channels.into())
        .map(|stripe| SpacePlacement::Interleaved { first: 0, stripe });
    let possible = striped.filter(|&placement| pager.has_placement(placement));
    possible.unwrap_or(asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use funcard::FunctionalCard;

    #[test]
    fn what_a_card_lacks_is_named() {
        let all = FunctionalCard::new(Default::default())
            .description()
            .clone();
        let shell = CardDescription {
            clock_period: Picoseconds::from_nanos(4),
            ..all.clone()
        };
        let without_walker = CardDescription {
            table_walks: false,
            ..all.clone()
        };
        let identity = CardDescription {
            translated: false,
            ..all.clone()
        };
        let outcome = |card: &CardDescription, mode| {
            let refused = can_translate(card, mode);
            refused.map_err(|error| error.to_string().split(": ").nth(1).map(str::to_owned))
        };
        use TranslationMode::{Both, Table, Tlb};
        for card in [&all, &shell, &without_walker, &identity] {
            assert_eq!(outcome(card, Both), Ok(()));
        }
        let no = |rule: &str| Err(Some(rule.to_owned()));
        assert_eq!((outcome(&all, Table), outcome(&all, Tlb)), (Ok(()), Ok(())));
        let expected = no("its shell has no walker (max_walks is 0)");
        assert_eq!(outcome(&without_walker, Table), expected);
        assert_eq!(outcome(&without_walker, Tlb), Ok(()));
        assert_eq!(outcome(&shell, Tlb), no("its shell has no L1 TLBs"));
        let expected = no("kernels use card addresses there");
        assert_eq!(outcome(&identity, Tlb), expected);
    }
}
