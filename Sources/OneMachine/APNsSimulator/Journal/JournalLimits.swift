/// Limits of a journal, with the behavior at each limit.
package struct JournalLimits: Sendable {
    /// Entries in memory. Above it the oldest entries are dropped.
    package var entriesMax = 100_000
    /// Approximate bytes of the entries in memory. Above it the oldest entries are dropped.
    package var memoryBytesMax = 256 << 20
    /// Distinct apns-ids whose accepted pushes are counted. A full table takes about 51 bytes of memory for each
    /// id. A push with a further id is counted in `JournalSummary.idsNotTracked` only, and the summary marks its
    /// duplicates as incomplete.
    package var trackedIDsMax = 4_000_000
    /// Distinct tokens and channels whose pushes are counted, with the same behavior.
    package var trackedTargetsMax = 4_000_000
    /// Entries that wait to be written to the file. Above it new entries are omitted from the file and
    /// counted.
    package var waitingEntriesMax = 200_000
    /// Approximate bytes of the waiting entries, with the same behavior.
    package var waitingBytesMax = 256 << 20
    /// Bytes of the file. Above it the file is renamed to `.1`, which replaces the previous one, and a new
    /// file begins.
    package var fileBytesMax = 1 << 30

    package init() {}
}
