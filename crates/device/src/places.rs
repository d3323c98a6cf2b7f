//! Byte offsets of an access.

/// Offsets of `bytes` consecutive bytes from `offset` on. An offset that overflows becomes `usize::MAX`, which is
/// outside every region.
pub(crate) fn places(offset: u64, bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes as u64).map(move |byte| {
        let at = offset.checked_add(byte);
        at.and_then(|at| usize::try_from(at).ok())
            .unwrap_or(usize::MAX)
    })
}
