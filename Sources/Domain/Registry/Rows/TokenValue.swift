internal import Identifiers
internal import TokenSealing

/// The values of the tables `starts` and `updates`: a token and the facts that decide whether it is served.
/// The facts come first, at fixed offsets, so that a walk that leaves out most rows reads little of each. If
/// you change the layout, raise `Lane.schema`.
///
///     0       flags
///     1       version of the system, three bytes, zeros if unknown
///     4       registered at, seven bytes; the highest bit is `unprovenBit`
///     11      token hash, sixteen bytes, zeros if the row has no token
///     27      expires at, seven bytes, only with the flag `expires`
///     then    the number of the activity type (`NameTable`), the token (`StoredToken`)
///     then    optional fields: each a tag, a length and the content
///
/// Times are milliseconds since 1970.
enum TokenValue {
    enum Flag {
        static let sandbox: UInt8 = 1
        /// The phone has reported whether the person allows frequent pushes.
        static let frequentPushesKnown: UInt8 = 2
        static let frequentPushes: UInt8 = 4
        /// The person switched Live Activities off for the app, or swiped this activity away.
        static let switchedOff: UInt8 = 8
        /// Another row with the same token is served (`TokenConflicts`). The lane sets this flag. It is not
        /// part of the record.
        static let shadowed: UInt8 = 16
        /// The row is in the lane of a recipient that the installation left.
        static let movedAway: UInt8 = 32
        static let expires: UInt8 = 64
        static let hasOptionalFields: UInt8 = 128
    }

    enum FieldOffset {
        static let os = 1
        static let registeredAt = 4
        static let hash = 11
        static let end = 27
    }

    /// The size of a time.
    static let timeBytes = 7
    /// The bit at `registeredAt` of a row whose token APNs has not accepted yet. No time needs the bit, because times
    /// in JSON have at most 53 bits.
    private static let unprovenBit: UInt8 = 0x80
    private static let registeredAtMask: Int64 = (1 << 55) - 1

    /// The tags of the fields behind the token. Each field exists at most once.
    enum OptionalField: UInt8 {
        case channel = 1
        case movedAt = 2
        case movedTo = 3
        /// The key of the row's record in the topic, if the row's key contains a name as a digest.
        case topicKey = 4
        /// The name of the group, in an update with `topicKey`.
        case group = 5
        /// The time of the dismissal by the person. The row has no token.
        case dismissedAt = 6
        /// In the row of a start token for all types: the names of the types that the installation has
        /// unregistered, each with its length in front.
        case unregisteredTypes = 7
        case arrivedAt = 8
    }
}

/// Writing of a value.
extension TokenValue {
    /// Appends the value of a row. Returns false if the hash is invalid.
    ///
    /// - Parameters:
    ///   - type: The number of the activity type.
    ///   - longKey: The record's key if the row's key contains a name as a digest. Otherwise empty.
    static func append(
        _ row: borrowing TokenFields, isStart: Bool, type: Int, longKey: Span<UInt8>, to value: inout [UInt8]
    ) -> Bool {
        let start = value.count
        value.append(flags(of: row))
        OSVersion.append(row.os, to: &value)
        value.append(number: row.registeredAt, byteCount: timeBytes)
        if row.isUnproven { value[start + FieldOffset.registeredAt] |= unprovenBit }
        let hash = row[row.tokenHash]
        if row.dismissedAt != nil, hash.isEmpty {
            for _ in 0..<TokenSeal.hashBytes { value.append(0) }
        } else {
            let isRightLength = hash.count == 2 * TokenSeal.hashBytes
            guard isRightLength, HexPairs.decode(hash, isLower: false, to: &value) else { return false }
        }
        if let expiresAt = row.expiresAt { value.append(number: expiresAt, byteCount: timeBytes) }
        OrderedNumber.append(type, to: &value)
        StoredToken.append(row[row.token], to: &value)
        if appendOptionalFields(of: row, isStart: isStart, longKey: longKey, to: &value) {
            value[start] |= Flag.hasOptionalFields
        }
        return true
    }

    /// Returns the flags that are known before the optional fields are appended.
    private static func flags(of row: borrowing TokenFields) -> UInt8 {
        var flags: UInt8 = row.isSandbox ? Flag.sandbox : 0
        if let frequentPushesEnabled = row.frequentPushesEnabled {
            flags |= Flag.frequentPushesKnown | (frequentPushesEnabled ? Flag.frequentPushes : 0)
        }
        if row.activitiesEnabled == false || row.dismissedAt != nil { flags |= Flag.switchedOff }
        if row.movedTo != nil { flags |= Flag.movedAway }
        if row.expiresAt != nil { flags |= Flag.expires }
        return flags
    }

    /// Returns whether it appended a field.
    private static func appendOptionalFields(
        of row: borrowing TokenFields, isStart: Bool, longKey: Span<UInt8>, to value: inout [UInt8]
    ) -> Bool {
        let start = value.count
        if let channel = row.channel { append(.channel, text: row[channel], to: &value) }
        if let movedAt = row.movedAt { append(.movedAt, time: movedAt, to: &value) }
        if let movedTo = row.movedTo { append(.movedTo, text: row[movedTo], to: &value) }
        if let arrivedAt = row.arrivedAt { append(.arrivedAt, time: arrivedAt, to: &value) }
        if let dismissedAt = row.dismissedAt { append(.dismissedAt, time: dismissedAt, to: &value) }
        if !row.unregisteredTypes.isEmpty {
            var names: [UInt8] = []
            for name in row.unregisteredTypes {
                names.append(length: name.count)
                names.append(row[name])
            }
            append(.unregisteredTypes, text: names.span, to: &value)
        }
        if !longKey.isEmpty {
            append(.topicKey, text: longKey, to: &value)
            if let group = row.group, !isStart { append(.group, text: row[group], to: &value) }
        }
        return value.count > start
    }

    private static func append(_ field: OptionalField, text: Span<UInt8>, to value: inout [UInt8]) {
        value.append(field.rawValue)
        value.append(length: text.count)
        value.append(text)
    }

    private static func append(_ field: OptionalField, time: Int64, to value: inout [UInt8]) {
        value.append(field.rawValue)
        value.append(length: timeBytes)
        value.append(number: time, byteCount: timeBytes)
    }
}

/// Reading of single fields, in place.
extension TokenValue {
    /// Whether the row has a token. The row of an activity that the person swiped away has none.
    static func hasToken(_ value: Span<UInt8>) -> Bool {
        value[0] & Flag.switchedOff == 0 || optionalField(.dismissedAt, in: value) == nil
    }

    static func registeredAt(in value: Span<UInt8>) -> Int64 {
        value.number(at: FieldOffset.registeredAt, byteCount: timeBytes) & registeredAtMask
    }

    /// Whether APNs has not accepted the row's token yet.
    static func isUnproven(_ value: Span<UInt8>) -> Bool {
        value[FieldOffset.registeredAt] & unprovenBit != 0
    }

    @_lifetime(copy value)
    static func tokenHash(in value: Span<UInt8>) -> Span<UInt8> {
        value.extracting(FieldOffset.hash..<FieldOffset.end)
    }

    static func expiresAt(in value: Span<UInt8>) -> Int64? {
        value[0] & Flag.expires == 0 ? nil : value.number(at: FieldOffset.end, byteCount: timeBytes)
    }

    /// Returns the offset of the activity type's number.
    static func typeOffset(in value: Span<UInt8>) -> Int {
        value[0] & Flag.expires == 0 ? FieldOffset.end : FieldOffset.end + timeBytes
    }

    /// Returns a field behind the token, or nil if the row lacks it.
    @_lifetime(copy value)
    static func optionalField(_ field: OptionalField, in value: Span<UInt8>) -> Span<UInt8>? {
        guard value[0] & Flag.hasOptionalFields != 0 else { return nil }
        var offset = typeOffset(in: value)
        _ = OrderedNumber.read(value, at: &offset)
        StoredToken.skip(value, at: &offset)
        while offset < value.count {
            let tag = value[offset]
            offset += 1
            let content = value.readCountedBytes(at: &offset)
            if tag == field.rawValue { return content }
        }
        return nil
    }

    /// Whether a start token that is for all types may start this one: the installation has not unregistered it.
    static func canStart(_ type: Span<UInt8>, with value: Span<UInt8>) -> Bool {
        guard let names = optionalField(.unregisteredTypes, in: value) else { return true }
        var offset = 0
        while offset < names.count {
            if names.readCountedBytes(at: &offset).equals(type) { return false }
        }
        return true
    }

    /// Returns the time at which the installation came to the recipient, or left it if the row moved away.
    static func movedAt(in value: Span<UInt8>) -> Int64? { time(of: .movedAt, in: value) }

    /// Returns the time at which an installation that left the recipient had come to it.
    static func arrivedAt(in value: Span<UInt8>) -> Int64? { time(of: .arrivedAt, in: value) }

    private static func time(of field: OptionalField, in value: Span<UInt8>) -> Int64? {
        optionalField(field, in: value)?.number(at: 0, byteCount: timeBytes)
    }

    /// Returns nil for a row with a token.
    static func dismissedAt(in value: Span<UInt8>) -> Int64? {
        value[0] & Flag.switchedOff == 0 ? nil : time(of: .dismissedAt, in: value)
    }

    /// Whether the flags allow pushes to the row's token. Expiry and the selection are not considered.
    static func isServed(_ value: Span<UInt8>) -> Bool {
        value[0] & (Flag.switchedOff | Flag.shadowed | Flag.movedAway) == 0
    }

    /// Whether two values come from equal records. The flag `shadowed` may differ, because the lane sets it.
    static func isSameRecord(_ a: Span<UInt8>, as b: Span<UInt8>) -> Bool {
        a.count == b.count && (a[0] ^ b[0]) & ~Flag.shadowed == 0
            && a.extracting(1..<a.count).equals(b.extracting(1..<b.count))
    }
}
