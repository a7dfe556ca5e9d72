internal import Kafka

/// Values as they were decoded lately, by their records: a send to a group comes to every lane in the same bytes, and
/// leaves the same row in nearly all of them; and a process has most lanes, or all. What is the same is decoded once, and
/// is in memory once.
final class DecodedRecords<Value: Sendable> {
    private struct Known {
        let record: [UInt8]
        let value: Value
    }

    /// Beyond either it begins anew.
    private let countMax = 2048
    private let bytesMax = 4 << 20

    /// By a hash of the record; the last one of each. Two that share one are told apart by their bytes.
    private var known: [UInt32: Known] = [:]
    private var bytes = 0

    func value<Failure: Error>(
        of record: Span<UInt8>, decode: (Span<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let hash = Murmur2.hash(record)
        if let place = known.index(forKey: hash), known.values[place].record.holds(record) {
            return known.values[place].value
        }
        let value = try decode(record)
        if known.count >= countMax || bytes >= bytesMax {
            known.removeAll(keepingCapacity: true)
            bytes = 0
        }
        known[hash] = Known(record: [UInt8](copying: record), value: value)
        bytes += record.count
        return value
    }
}
