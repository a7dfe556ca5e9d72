/// The metadata that a sender commits with an offset. It names the part of `receipts` that a successor needs.
/// It is text in `__consumer_offsets`: `1 42 1000` or `1 42 1000 57`.
package struct CommitMetadata: Sendable, Hashable {
    package static let schemaVersion = 1

    /// The offset of the lane's `receipts` from which the ledger is read.
    package var receiptsFrom: Int64
    /// Sheets at or above the committed offset plus this window were surely not begun.
    package var window: Int64
    /// End of `receipts` when an owner left in order. If `receipts` still end there, nothing is in flight.
    package var endedAt: Int64?

    package init(receiptsFrom: Int64, window: Int64, endedAt: Int64? = nil) {
        self.receiptsFrom = receiptsFrom
        self.window = window
        self.endedAt = endedAt
    }

    package var text: String {
        "\(Self.schemaVersion) \(receiptsFrom) \(window)" + (endedAt.map { " \($0)" } ?? "")
    }

    /// Reads metadata. Returns nil for another version. Then all receipts are read.
    package init?(text: String) {
        let parts = text.split(separator: " ").map { Int64($0) }
        guard (3...4).contains(parts.count), parts[0] == Int64(Self.schemaVersion), let from = parts[1],
            let window = parts[2], from >= 0, (0...Self.windowMax).contains(window)
        else { return nil }
        self.init(receiptsFrom: from, window: window, endedAt: parts.count == 4 ? parts[3] : nil)
    }

    /// The largest valid window. A larger one is not possible by any setting, so the text is damaged.
    static let windowMax: Int64 = 1_000_000
}
