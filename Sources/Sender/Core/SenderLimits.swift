/// The bounds of a core, each with what happens at it.
package struct SenderLimits: Sendable, Hashable {
    /// Pushes without a stored outcome; beyond it none leaves. A SIGKILL doubles at most so many.
    package var permitsMax = 2_000
    /// Bytes of sheets in hand; beyond it reading pauses, until half of them are done.
    package var handBytesMax = 48 << 20
    /// How far above the committed offset sheets are begun, in offsets: a successor looks at so many.
    package var window: Int64 = 1_000
    /// How long an earlier owner's pushes may still be out.
    package var settleMilliseconds = 6_000
    /// Outcomes of a sheet wait so long for others that share the record.
    package var receiptMilliseconds = 5
    package var commitMilliseconds = 1_000
    /// Sheets that a lane's ledger knows, at most.
    package var ledgerSheetsMax = 50_000

    /// So many records of `receipts` may lie between where a successor is told to read from and where he has to.
    package var noteBehindMax: Int64 = 2_000

    package init() {}
}
