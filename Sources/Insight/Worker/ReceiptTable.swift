/// The tables of receipts of one lane, and the layout of their rows. Each value begins with the milliseconds
/// since 1970 of the newest thing in it: so all of them are forgotten in one way.
enum ReceiptTable: String, CaseIterable {
    /// Which jobs of a sheet have had their last word, by the sheet's place.
    case finished
    /// `SendTally`, by app, send and environment.
    case tallies
    /// The records themselves, by offset: a person's pushes are read from them.
    case receipts
    /// `AddresseeMarks` of each record, by offset.
    case marks

    /// Its rows lie in the order of their time, nearly: the oldest are the first.
    var isInOrder: Bool { self == .receipts || self == .marks }
}
