/// The tables of a `ReceiptFile`. Each value starts with the time of its newest part in milliseconds since
/// 1970, so that `RetentionSweep` works for all tables.
enum ReceiptTable: String, CaseIterable {
    /// `FinishedLines` of each sheet, by the sheet's position.
    case finished
    /// `SendTally`, by app, send and environment.
    case tallies
    /// `PeriodTally` of each `SeriesSlot`.
    case series
    /// The receipts by offset: the length of the JSON in four bytes, the JSON, and the header `to`. A person's
    /// pushes are read from them.
    case receipts
    /// `RecipientHashes` of each receipt, by offset.
    case recipientHashes = "marks"

    /// Whether the rows are nearly in time order, with the oldest first.
    var isInOrder: Bool { self == .receipts || self == .recipientHashes }
}
