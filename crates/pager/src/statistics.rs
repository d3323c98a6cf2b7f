//! What the pager has done, for reports.

/// Counts since the pager was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accesses that waited for the host.
    pub faults: u64,
    /// Of these, found by look-ahead.
    pub faults_ahead: u64,
    /// Of these, for a page that was already on its way.
    pub faults_joined: u64,
    /// Of these, for a page that was on the card already.
    pub faults_resident: u64,
    /// Accesses that failed.
    pub accesses_failed: u64,
    /// Pages read from an object.
    pub pages_read: u64,
    /// Pages of which pieces were read beside each other.
    pub pages_in_pieces: u64,
    /// Of these, those that were given up because a piece failed.
    pub pages_in_pieces_failed: u64,
    /// Bytes of objects copied to the card.
    pub bytes_read: u64,
    /// Pages zeroed on the card instead.
    pub pages_zeroed: u64,
    /// Bytes of these pages.
    pub bytes_zeroed: u64,
    /// Pages evicted to make room.
    pub evictions: u64,
    /// Pages written to an object.
    pub pages_written: u64,
    /// Bytes written to objects.
    pub bytes_written: u64,
    /// Pages that left the card without being written, because they were clean.
    pub pages_dropped_clean: u64,
    /// Pages cleaned before they had to leave.
    pub pages_cleaned_ahead: u64,
    /// Pages cleaned behind a kernel that wrote them in order.
    pub pages_cleaned_behind: u64,
    /// Pages that were copied out and saved in pieces.
    pub pages_saved_in_pieces: u64,
    /// Faults for which a page of the largest size was made, of objects whose pages have several.
    pub pages_large: u64,
    /// Likewise, of a smaller size.
    pub pages_small: u64,
    /// Pages that were wanted whole and were taken in smaller ones.
    pub pages_split: u64,
    /// Larger pages that their parts on the card became.
    pub pages_joined: u64,
    /// Write-backs that failed.
    pub write_backs_failed: u64,
    /// Entries removed because their set of the page table was full.
    pub set_conflicts: u64,
    /// Page tables that have moved to larger ones.
    pub tables_grown: u64,
    /// Accesses of programs to shared memory that were trapped.
    pub host_traps: u64,
    /// Pages of shared memory that the card had to read and got to write, without moving data.
    pub pages_upgraded: u64,
    /// Pages of shared memory that the card owned, and programs may read again.
    pub pages_shared: u64,
    /// Pages of shared memory that left the card: programs have them to themselves again.
    pub pages_returned: u64,
    /// Of the pages read, those that stayed in host memory.
    pub pages_direct: u64,
    /// Bytes of these.
    pub bytes_direct: u64,
    /// Of the pages written, those that were in host memory.
    pub pages_direct_written: u64,
    /// Pages brought in before anybody touched them.
    pub pages_hinted: u64,
}

/// What the kernels of one space have waited for, since the space was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceStatistics {
    /// Accesses that waited for the host.
    pub faults: u64,
    /// Of these, found by look-ahead.
    pub faults_ahead: u64,
    /// Of these, for a page that was already on its way.
    pub faults_joined: u64,
    /// Of these, for a page that was on the card already.
    pub faults_resident: u64,
    /// Accesses that failed.
    pub accesses_failed: u64,
    /// Bytes of objects that were read for it: of pages that it wanted first.
    pub bytes_read: u64,
    /// Bytes of such pages that were written to objects.
    pub bytes_written: u64,
    /// Such pages that were read from an object.
    pub pages_read: u64,
    /// Such pages that were zeroed on the card instead.
    pub pages_zeroed: u64,
    /// Such pages that were written to an object.
    pub pages_written: u64,
    /// Such pages that made room for others.
    pub evictions: u64,
    /// Such pages that left the card without being written, because they were clean.
    pub pages_dropped_clean: u64,
    /// Entries of its table that were removed because their set was full.
    pub set_conflicts: u64,
}
