//! Counts of the pager, for reports.

/// Counts since the pager was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accesses that waited for the host.
    pub faults: u64,
    /// Of these, faults found by look-ahead.
    pub faults_ahead: u64,
    /// Of these, faults on a page that was already in transit.
    pub faults_joined: u64,
    /// Of these, faults on a page that was already on the card.
    pub faults_resident: u64,
    /// Accesses that failed.
    pub accesses_failed: u64,
    /// Pages read from an object.
    pub pages_read: u64,
    /// Pages read in several concurrent pieces.
    pub pages_in_pieces: u64,
    /// Of these, pages that were abandoned because a piece failed.
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
    /// Clean pages that left the card without a write.
    pub pages_dropped_clean: u64,
    /// Pages cleaned before their eviction.
    pub pages_cleaned_ahead: u64,
    /// Pages cleaned behind a kernel that wrote them in order.
    pub pages_cleaned_behind: u64,
    /// Pages that were copied out and saved in pieces.
    pub pages_saved_in_pieces: u64,
    /// Faults for which a page of the largest size was made, in objects with several sizes.
    pub pages_large: u64,
    /// Such faults for which a smaller page was made.
    pub pages_small: u64,
    /// Pages that were requested whole and split into smaller ones.
    pub pages_split: u64,
    /// Larger pages made by joining resident parts.
    pub pages_joined: u64,
    /// Write-backs that failed.
    pub write_backs_failed: u64,
    /// Entries removed because their set of the page table was full.
    pub set_conflicts: u64,
    /// Page tables that were moved to larger ones.
    pub tables_grown: u64,
    /// Trapped accesses of programs to shared memory.
    pub host_traps: u64,
    /// Pages of shared memory upgraded from read-only to writable on the card, without moving data.
    pub pages_upgraded: u64,
    /// Pages of shared memory, owned by the card, that programs may read again.
    pub pages_shared: u64,
    /// Pages of shared memory that left the card: programs own them again.
    pub pages_returned: u64,
    /// Pages that were read and stayed in host memory.
    pub pages_direct: u64,
    /// Bytes of these pages.
    pub bytes_direct: u64,
    /// Pages that were written from host memory.
    pub pages_direct_written: u64,
    /// Pages fetched before any access.
    pub pages_hinted: u64,
}

/// Waits and transfers of one space, since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceStatistics {
    /// Accesses that waited for the host.
    pub faults: u64,
    /// Of these, faults found by look-ahead.
    pub faults_ahead: u64,
    /// Of these, faults on a page that was already in transit.
    pub faults_joined: u64,
    /// Of these, faults on a page that was already on the card.
    pub faults_resident: u64,
    /// Accesses that failed.
    pub accesses_failed: u64,
    /// Bytes of objects read for pages that this space requested first.
    pub bytes_read: u64,
    /// Bytes of such pages written to objects.
    pub bytes_written: u64,
    /// Such pages that were read from an object.
    pub pages_read: u64,
    /// Such pages that were zeroed on the card instead.
    pub pages_zeroed: u64,
    /// Such pages that were written to an object.
    pub pages_written: u64,
    /// Such pages that were evicted to make room.
    pub evictions: u64,
    /// Such pages that left the card clean, without a write.
    pub pages_dropped_clean: u64,
    /// Entries of its table that were removed because their set was full.
    pub set_conflicts: u64,
}
