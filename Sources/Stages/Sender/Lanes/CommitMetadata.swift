/// The metadata that a sender commits with an offset, for the next owner of the lane: the receipts that it has to read,
/// and the sheets that may have been begun.
///
/// It is text in `__consumer_offsets`: the version of its schema, `owner` in hexadecimal digits, `receiptsFrom`,
/// `window`, and `endedAt` if there is one. Examples: `2 9f3a 42 1000` and `2 9f3a 42 1000 57`. Version 1 has no owner.
package struct CommitMetadata: Sendable, Hashable {
    package static let schemaVersion = 2
    private static let ownerRadix = 16

    /// The number of the owner that committed it, as in `TakeoverMarker`. Nil in version 1, and if an owner before it
    /// may still have pushes in flight.
    package var owner: UInt64?
    /// The offset of the lane's `receipts` from which the ledger is read.
    package var receiptsFrom: Int64
    /// Number of offsets from the committed one on within which sheets may have been begun. No sheet after them was.
    package var window: Int64
    /// End of `receipts` when an owner left in order; nil while it owns the lane. If `receipts` still end there,
    /// nothing is in flight.
    package var endedAt: Int64?

    package init(receiptsFrom: Int64, window: Int64, endedAt: Int64? = nil, owner: UInt64? = nil) {
        self.owner = owner
        self.receiptsFrom = receiptsFrom
        self.window = window
        self.endedAt = endedAt
    }

    /// The metadata as Kafka stores it.
    package var text: String {
        let version = owner.map { "\(Self.schemaVersion) \(String($0, radix: Self.ownerRadix))" } ?? "1"
        return "\(version) \(receiptsFrom) \(window)" + (endedAt.map { " \($0)" } ?? "")
    }

    /// Reads metadata. Returns nil for damaged text or another version. Then all receipts are read.
    package init?(text: String) {
        var fields = text.split(separator: " ")[...]
        var owner: UInt64?
        switch fields.popFirst() {
        case "1": break
        case "2":
            owner = fields.popFirst().flatMap { UInt64($0, radix: Self.ownerRadix) }
            if owner == nil { return nil }
        default: return nil
        }
        let numbers = fields.compactMap { Int64($0) }
        guard numbers.count == fields.count, (2...3).contains(numbers.count) else { return nil }
        let (receiptsFrom, window, endedAt) = (numbers[0], numbers[1], numbers.dropFirst(2).first)
        guard receiptsFrom >= 0, (0...Self.windowMax).contains(window), endedAt ?? 0 >= 0 else { return nil }
        self.init(receiptsFrom: receiptsFrom, window: window, endedAt: endedAt, owner: owner)
    }

    /// The largest valid window. A larger one is not possible by any setting, so the text is damaged.
    static let windowMax: Int64 = 1_000_000
}
