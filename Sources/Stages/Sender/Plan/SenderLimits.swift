/// The limits of a plan, and the behavior at each.
package struct SenderLimits: Sendable, Hashable {
    /// Limit of pushes without a stored outcome. At the limit no push leaves. A SIGKILL duplicates at most
    /// this many pushes.
    package var permitsMax = 2_000
    /// Limit of bytes of sheets in hand. At the limit reading pauses until half of them are done.
    package var sheetBytesMax = 48 << 20
    /// Sheets are begun up to this many offsets above the committed offset. A successor checks this many.
    package var window: Int64 = 1_000
    /// Upper bound of the time that an earlier owner's pushes stay in flight.
    package var settleMilliseconds = 6_000
    /// Time that outcomes of a sheet wait for others to share a record.
    package var receiptMilliseconds = 5
    package var commitMilliseconds = 1_000
    /// Limit of sheets that a lane's ledger remembers.
    package var ledgerSheetsMax = 50_000

    /// Limit of records in `receipts` between the offset in the committed metadata and the offset that a
    /// successor really needs.
    package var receiptsBehindMax: Int64 = 2_000

    package init() {}
}
