internal import LiveActivity
internal import StageSupport

/// A cache of the encoded scopes of one transaction. If most lanes have no recipients of a group, they have
/// the same row. Equal rows are encoded once and stored once, also in the overlay.
struct EncodedScopes {
    private struct Known {
        let key: KeyBytes
        var scope: LaneScope
        var record: [UInt8]
    }

    /// The newest row of each key.
    private var known: [Known] = []
    private var numbers: [KeyBytes: Int] = [:]
    /// The likely next row. Lanes usually have their scopes in the same order.
    private var next = 0

    mutating func record(of scope: LaneScope, under key: KeyBytes) -> [UInt8] {
        guard let number = number(of: key) else {
            let record = scope.encoded()
            next = known.count + 1
            numbers[key] = known.count
            known.append(Known(key: key, scope: scope, record: record))
            return record
        }
        next = number + 1
        if known[number].scope == scope { return known[number].record }
        let record = scope.encoded()
        known[number] = Known(key: key, scope: scope, record: record)
        return record
    }

    private func number(of key: KeyBytes) -> Int? {
        if next < known.count, known[next].key == key { return next }
        return numbers[key]
    }
}
