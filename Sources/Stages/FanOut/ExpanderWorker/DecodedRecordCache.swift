internal import Kafka

/// A cache of recently decoded values, by their record bytes. A send to a group comes to every lane in the
/// same bytes and leaves the same row in nearly all lanes. A process owns most lanes. So equal records are
/// decoded once and stored once.
final class DecodedRecordCache<Value: Sendable> {
    private struct CachedRecord {
        let record: [UInt8]
        let hash: UInt32
        let value: Value
    }

    /// The limits of the cache. Above either of them the older half is dropped.
    private let countMax = 2048
    private let bytesMax = 4 << 20

    private var cached: [CachedRecord] = []
    /// The newest value of each hash of a record. Records with the same hash are compared by their bytes.
    private var indices: [UInt32: Int] = [:]
    private var bytes = 0
    /// The likely next value. Records usually come to all lanes in the same order.
    private var likelyNextIndex = 0

    func value<Failure: Error>(
        of record: Span<UInt8>, decode: (Span<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if likelyNextIndex < cached.count, cached[likelyNextIndex].record.equals(record) {
            likelyNextIndex += 1
            return cached[likelyNextIndex - 1].value
        }
        let hash = Murmur2.hash(of: record)
        if let number = indices[hash], cached[number].record.equals(record) {
            likelyNextIndex = number + 1
            return cached[number].value
        }
        let value = try decode(record)
        if cached.count >= countMax || bytes >= bytesMax { dropOlderHalf() }
        indices[hash] = cached.count
        cached.append(CachedRecord(record: [UInt8](copying: record), hash: hash, value: value))
        likelyNextIndex = cached.count
        bytes += record.count
        return value
    }

    private func dropOlderHalf() {
        cached.removeFirst((cached.count + 1) / 2)
        indices.removeAll(keepingCapacity: true)
        bytes = 0
        for (number, one) in cached.enumerated() {
            indices[one.hash] = number
            bytes += one.record.count
        }
    }
}
