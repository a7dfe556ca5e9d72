internal import LiveActivity
internal import Stages

/// Records of the scopes of one transaction: of a group of whom most lanes have nobody, most lanes have the same row.
/// What is the same is encoded once, and is in memory once, also while it is not read back.
struct EncodedScopes {
    private struct Known {
        let key: KeyBytes
        var scope: LaneScope
        var record: [UInt8]
    }

    /// The last one of each key.
    private var known: [Known] = []
    private var numbers: [KeyBytes: Int] = [:]
    /// Lanes mostly have their scopes in one order: which is probably asked for next.
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
