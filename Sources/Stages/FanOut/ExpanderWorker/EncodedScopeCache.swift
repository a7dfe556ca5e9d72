internal import RecordFormat
internal import Sends
internal import StageSupport

/// A cache of the encoded scopes of one transaction. If most lanes have no recipients of a group, they have
/// the same row. Equal rows are encoded once and stored once, also in the overlay.
struct EncodedScopeCache {
    private struct CachedScope {
        let key: HashedKey
        var scope: LaneScope
        var record: [UInt8]
    }

    /// The newest row of each key.
    private var cached: [CachedScope] = []
    private var indices: [HashedKey: Int] = [:]
    /// The likely next row. Lanes usually have their scopes in the same order.
    private var likelyNextIndex = 0

    mutating func record(of scope: LaneScope, under key: HashedKey) -> [UInt8] {
        guard let number = index(of: key) else {
            let record = scope.encoded()
            likelyNextIndex = cached.count + 1
            indices[key] = cached.count
            cached.append(CachedScope(key: key, scope: scope, record: record))
            return record
        }
        likelyNextIndex = number + 1
        if cached[number].scope == scope { return cached[number].record }
        let record = scope.encoded()
        cached[number] = CachedScope(key: key, scope: scope, record: record)
        return record
    }

    private func index(of key: HashedKey) -> Int? {
        if likelyNextIndex < cached.count, cached[likelyNextIndex].key == key { return likelyNextIndex }
        return indices[key]
    }
}
