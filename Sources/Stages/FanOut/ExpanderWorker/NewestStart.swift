internal import Identifiers
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Store

/// The newest start of a type on a recipient's installation. The view stores it as a derived row of the
/// ledger rows. Its key parts are copied from the ledger row in their encoded form. Its value is the time of
/// the start and the key of its ledger row.
enum NewestStart {
    /// The first byte of the key. No key of the topic begins with it.
    static let marker: UInt8 = 0
    private static let separator = UInt8(ascii: "/")
    private static let typeField = Array(#""type":""#.utf8)
    /// The field after the type. A JSON string has no quote without an escape before it, so the bytes cannot
    /// occur in a value.
    private static let endedAtField = Array(#","endedAt":"#.utf8)
    private static let quote = UInt8(ascii: "\"")
    private static let escape = UInt8(ascii: "\\")

    /// Makes the key from a ledger row, so that its parts are encoded alike. The key contains neither the group nor the
    /// generation of the row.
    static func key(app: String, recipient: Recipient, installation: String, type: String) -> [UInt8] {
        let key = LedgerKey(
            app: app, subject: .group("-"), recipient: recipient, generation: 1, installation: installation
        ).bytes
        let row = LedgerRow(version: 0, startedAt: 0, type: type).encoded()
        return self.row(forKey: key.span, value: row.span)?.key ?? []
    }

    /// - Returns: false for a row that is not a start of a group, and for an activity that its app started.
    ///   It also returns false for an ended start. Such a row is written again long after the start, and
    ///   would replace newer starts.
    @Sendable
    static func writeRow(forKey key: Span<UInt8>, value: Span<UInt8>, to row: inout DerivedRow) -> Bool {
        guard let parts = LedgerKeyParts(key), !isAppStarted(key, parts: parts),
            value.end(ofFirst: endedAtField) == nil,
            let name = typeName(in: value),
            let time = RowTime.first(in: value)
        else { return false }
        row.key.removeAll(keepingCapacity: true)
        row.key.append(marker)
        // Like the ledger rows, these rows lie in the order of a walk.
        ScopesRowOrder.append(bucketOf: key.extracting(parts.groupEnd + 1..<parts.recipientEnd), to: &row.key)
        row.key.append(span: key.extracting(0..<parts.appEnd))
        row.key.append(span: key.extracting(parts.groupEnd..<parts.recipientEnd))
        row.key.append(span: key.extracting(parts.generationEnd..<key.count))
        row.key.append(separator)
        row.key.append(span: value.extracting(name))
        guard row.key.count <= EnvironmentLimits.keyBytesMax else { return false }
        row.value.removeAll(keepingCapacity: true)
        RowTime.append(time, to: &row.value)
        row.value.append(span: key)
        return true
    }

    static func row(forKey key: Span<UInt8>, value: Span<UInt8>) -> DerivedRow? {
        var row = DerivedRow()
        return writeRow(forKey: key, value: value, to: &row) ? row : nil
    }

    /// Whether `value` is newer than `other`. Equal times are ordered by their keys.
    static func isNewer(_ value: [UInt8], than other: [UInt8]) -> Bool {
        other.lexicographicallyPrecedes(value)
    }

    /// Returns the time in milliseconds since 1970 and the ledger's key. Returns nil for any other value.
    static func decode(_ value: Span<UInt8>) -> (at: Int64, key: LedgerKey)? {
        guard let time = ScopesDerivation.time(of: value) else { return nil }
        let rest = [UInt8](copying: value.extracting(RowTime.byteCount..<value.count))
        return LedgerKey(bytes: rest).map { (time, $0) }
    }

    /// Whether the generation is 0, for activities that their app started.
    private static func isAppStarted(_ key: Span<UInt8>, parts: LedgerKeyParts) -> Bool {
        parts.generationEnd == parts.recipientEnd + 2 && key[parts.recipientEnd + 1] == UInt8(ascii: "0")
    }

    private static func typeName(in value: Span<UInt8>) -> Range<Int>? {
        guard let start = value.end(ofFirst: typeField) else { return nil }
        var end = start
        while end < value.count, value[end] != quote { end += value[end] == escape ? 2 : 1 }
        return start < end && end < value.count ? start..<end : nil
    }
}

extension [UInt8] {
    mutating func append(span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
