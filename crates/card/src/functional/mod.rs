//! The functional card: no RTL, no time; for tests of everything above the card.
