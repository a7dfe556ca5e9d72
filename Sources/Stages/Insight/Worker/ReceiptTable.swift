/// The tables of one lane's receipts, and the layout of their rows. Each value starts with the time of its
/// newest part in milliseconds since 1970, so that one sweep works for all tables.
enum ReceiptTable: String, CaseIterable {
    /// The jobs of a sheet that have a final receipt, by the sheet's position.
    case finished
    /// `SendTally`, by app, send and environment.
    case tallies
    /// The records by offset. A person's pushes are read from them.
    case receipts
    /// `RecipientHashes` of each record, by offset.
    case marks

    /// Whether the rows are nearly in time order, with the oldest first.
    var isInOrder: Bool { self == .receipts || self == .marks }
}
