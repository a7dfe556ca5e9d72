/// The limits of a plan, and the behavior at each.
package struct SenderLimits: Sendable, Hashable {
    /// Limit of pushes without a stored outcome. At the limit no push leaves. A SIGKILL duplicates at most this many
    /// pushes.
    package var permitsMax = 2_000
    /// Limit of bytes of sheets in hand. At the limit reading pauses until only half of it is used.
    package var sheetBytesMax = 48 << 20
    /// Sheets are begun up to this many offsets above the committed offset. The next owner of a lane compares this many
    /// with the receipts.
    package var window: Int64 = 1_000
    /// Upper bound of the time for which pushes of an earlier owner stay in flight.
    package var settleMilliseconds = 6_000
    /// Time for which outcomes of a sheet wait, so that later outcomes share their record.
    package var receiptMilliseconds = 5
    /// Interval of the commits of advanced offsets.
    package var commitMilliseconds = 1_000
    /// Limit of sheets that a lane's ledger of receipts remembers. Jobs of forgotten sheets may be pushed again.
    package var ledgerSheetsMax = 50_000
    /// Limit of receipts that the next owner of a lane would read without need. At the limit newer metadata is
    /// committed.
    package var receiptsBehindMax: Int64 = 2_000

    package init() {}
}
