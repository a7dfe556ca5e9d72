internal import LiveActivity
internal import Stages

/// Records of the scopes of one transaction: of a group of whom most lanes have nobody, most lanes have the same row.
/// What is the same is encoded once, and is in memory once, also while it is not read back.
struct EncodedScopes {
    private struct Known {
        let scope: LaneScope
        let record: [UInt8]
    }

    /// The last one of each key.
    private var known: [KeyBytes: Known] = [:]

    mutating func record(of scope: LaneScope, under key: KeyBytes) -> [UInt8] {
        if let place = known.index(forKey: key), known.values[place].scope == scope {
            return known.values[place].record
        }
        let record = scope.encoded()
        known[key] = Known(scope: scope, record: record)
        return record
    }
}
