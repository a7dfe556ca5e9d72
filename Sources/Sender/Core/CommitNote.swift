/// What a sender commits beside an offset: what its successor needs to know of `receipts`. Text, as it
/// stands in `__consumer_offsets`: `1 42 1000` or `1 42 1000 57`.
package struct CommitNote: Sendable, Hashable {
    package static let schemaVersion = 1

    /// From this offset of the lane's `receipts` the ledger is read.
    package var receiptsFrom: Int64
    /// Sheets at or above the offset and this were surely not begun.
    package var window: Int64
    /// Of an owner who went in order: where `receipts` ended then. Nothing behind it, nothing is in flight.
    package var endedAt: Int64?

    package init(receiptsFrom: Int64, window: Int64, endedAt: Int64? = nil) {
        self.receiptsFrom = receiptsFrom
        self.window = window
        self.endedAt = endedAt
    }

    package var text: String {
        "\(Self.schemaVersion) \(receiptsFrom) \(window)" + (endedAt.map { " \($0)" } ?? "")
    }

    /// Nil for what nobody of this version wrote: then all receipts are read.
    package init?(text: String) {
        let parts = text.split(separator: " ").map { Int64($0) }
        guard (3...4).contains(parts.count), parts[0] == Int64(Self.schemaVersion), let from = parts[1],
            let window = parts[2], from >= 0, (0...Self.windowMax).contains(window)
        else { return nil }
        self.init(receiptsFrom: from, window: window, endedAt: parts.count == 4 ? parts[3] : nil)
    }

    /// A window that no setting allows is a damaged note.
    static let windowMax: Int64 = 1_000_000
}
