internal import JSON
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Store

/// The expander's walk through all rows of `starts` (`ViewScan`). It finds activities that must end before the system
/// ends them, and rows that the topic has dropped.
enum ScopeScan {
    /// The pause between two pages.
    static let pageMilliseconds = 20
    /// The interval between the starts of two passes. It limits the delay of a safety END.
    static let passMilliseconds = 60_000
    /// The retention of the topic plus a margin, because clocks differ.
    private static let retentionMilliseconds: Int64 = (48 + 1) * 3_600_000

    /// The action for a row. Nearly all rows need none.
    enum RowAction: Equatable {
        case sendSafetyEnd(LedgerKey)
        case removeExpired
    }

    /// Returns the action for a row, or nil. Most of the millions of rows are excluded by their time, and
    /// only the others are decoded.
    static func action(
        forKey key: Span<UInt8>, value: Span<UInt8>, at now: Int64, with reader: JSONReader
    ) -> RowAction? {
        let isDerived = ScopesDerivation.isKey(key)
        let isStart = !isDerived && isLedgerKey(key)
        let time =
            isDerived
            ? ScopesDerivation.time(of: value)
            : isStart ? RowTime.first(in: value) : RowTime.last(in: value)
        guard let time else { return nil }
        if now - time > retentionMilliseconds { return .removeExpired }
        guard isStart, SafetyEnd.isDue(startedAt: time, at: now) else { return nil }
        let row = try? unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe LedgerRow.decode(bytes, with: reader)
        }
        guard let row, SafetyEnd.isDue(row, at: now) else { return nil }
        return LedgerKey(bytes: [UInt8](copying: key)).map { .sendSafetyEnd($0) }
    }

    /// Whether the key is a ledger key. Nearly all ledger keys are starts of groups. Counting their slashes
    /// is enough and is cheaper than decoding.
    private static func isLedgerKey(_ key: Span<UInt8>) -> Bool {
        LedgerKeyParts(key) != nil || LedgerKey(bytes: [UInt8](copying: key)) != nil
    }
}
