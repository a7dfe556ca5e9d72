/// The metadata that a sender commits with an offset, for the next owner of the lane: the receipts that it has to read,
/// and the sheets that may have been begun.
///
/// It is text in `__consumer_offsets`: the version of its schema, `receiptsFrom`, `window`, and `endedAt` if there is
/// one. Examples: `1 42 1000` and `1 42 1000 57`.
package struct CommitMetadata: Sendable, Hashable {
    package static let schemaVersion = 1

    /// The offset of the lane's `receipts` from which the ledger is read.
    package var receiptsFrom: Int64
    /// Number of offsets from the committed one on within which sheets may have been begun. No sheet behind them was.
    package var window: Int64
    /// End of `receipts` when an owner left in order; nil while it owns the lane. If `receipts` still end there,
    /// nothing is in flight.
    package var endedAt: Int64?

    package init(receiptsFrom: Int64, window: Int64, endedAt: Int64? = nil) {
        self.receiptsFrom = receiptsFrom
        self.window = window
        self.endedAt = endedAt
    }

    /// The metadata as Kafka stores it.
    package var text: String {
        "\(Self.schemaVersion) \(receiptsFrom) \(window)" + (endedAt.map { " \($0)" } ?? "")
    }

    /// Reads metadata. Returns nil for damaged text or another version. Then all receipts are read.
    package init?(text: String) {
        let fields = text.split(separator: " ")
        let numbers = fields.compactMap { Int64($0) }
        guard numbers.count == fields.count, (3...4).contains(numbers.count),
            numbers[0] == Int64(Self.schemaVersion)
        else { return nil }
        let (receiptsFrom, window, endedAt) = (numbers[1], numbers[2], numbers.dropFirst(3).first)
        guard receiptsFrom >= 0, (0...Self.windowMax).contains(window), endedAt ?? 0 >= 0 else { return nil }
        self.init(receiptsFrom: receiptsFrom, window: window, endedAt: endedAt)
    }

    /// The largest valid window. A larger one is not possible by any setting, so the text is damaged.
    static let windowMax: Int64 = 1_000_000
}
