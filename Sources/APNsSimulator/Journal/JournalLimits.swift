/// What a journal keeps. Each limit says what happens there.
package struct JournalLimits: Sendable {
    /// Entries in memory; beyond it the oldest go.
    package var entriesMax = 100_000
    /// Bytes that the entries in memory take, roughly; beyond it the oldest go.
    package var bytesMax = 256 << 20
    /// apns-ids whose accepted pushes are counted, at most 51 bytes of memory each. Ids beyond it are
    /// counted as not followed, and the summary says that it no longer knows all doubled ones.
    package var idsMax = 4_000_000
    /// Tokens and channels whose pushes are counted; likewise.
    package var targetsMax = 4_000_000
    /// Entries that wait to be written to the file; beyond it new ones are left out of the file and
    /// counted, because no push waits for a disk.
    package var waitingMax = 200_000
    /// Bytes that those which wait take, roughly; likewise.
    package var waitingBytesMax = 256 << 20
    /// Bytes of the file; beyond it the file is renamed (`.1`, in the place of the one before) and begun anew.
    package var fileBytesMax = 1 << 30

    package init() {}
}
