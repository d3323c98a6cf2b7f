//! Bytes of an access, by their place.

/// The places of `bytes` bytes from an offset on; those that no number can name are at the end of all numbers, where
/// nothing is.
pub(crate) fn places(offset: u64, bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes as u64).map(move |byte| {
        let at = offset.checked_add(byte);
        at.and_then(|at| usize::try_from(at).ok())
            .unwrap_or(usize::MAX)
    })
}
