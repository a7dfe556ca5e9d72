internal import Kafka

/// A cache of recently decoded values, by their record bytes. A send to a group comes to every lane in the
/// same bytes and leaves the same row in nearly all lanes. A process owns most lanes. So equal records are
/// decoded once and stored once.
final class DecodedRecords<Value: Sendable> {
    private struct Known {
        let record: [UInt8]
        let hash: UInt32
        let value: Value
    }

    /// The limits of the cache. Above either of them the older half is dropped.
    private let countMax = 2048
    private let bytesMax = 4 << 20

    private var known: [Known] = []
    /// The newest value of each hash of a record. Records with the same hash are compared by their bytes.
    private var numbers: [UInt32: Int] = [:]
    private var bytes = 0
    /// The likely next value. Records usually come to all lanes in the same order.
    private var next = 0

    func value<Failure: Error>(
        of record: Span<UInt8>, decode: (Span<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if next < known.count, known[next].record.holds(record) {
            next += 1
            return known[next - 1].value
        }
        let hash = Murmur2.hash(record)
        if let number = numbers[hash], known[number].record.holds(record) {
            next = number + 1
            return known[number].value
        }
        let value = try decode(record)
        if known.count >= countMax || bytes >= bytesMax { forgetHalf() }
        numbers[hash] = known.count
        known.append(Known(record: [UInt8](copying: record), hash: hash, value: value))
        next = known.count
        bytes += record.count
        return value
    }

    private func forgetHalf() {
        known.removeFirst((known.count + 1) / 2)
        numbers.removeAll(keepingCapacity: true)
        bytes = 0
        for (number, one) in known.enumerated() {
            numbers[one.hash] = number
            bytes += one.record.count
        }
    }
}
