internal import Kafka

/// Values as they were decoded lately, by their records: a send to a group comes to every lane in the same bytes, and
/// leaves the same row in nearly all of them; and a process has most lanes, or all. What is the same is decoded once, and
/// is in memory once.
final class DecodedRecords<Value: Sendable> {
    private struct Known {
        let record: [UInt8]
        let hash: UInt32
        let value: Value
    }

    /// Beyond either the older half is forgotten.
    private let countMax = 2048
    private let bytesMax = 4 << 20

    private var known: [Known] = []
    /// By a hash of the record; the last one of each. Two that share one are told apart by their bytes.
    private var numbers: [UInt32: Int] = [:]
    private var bytes = 0
    /// What came to one lane in this order mostly comes so to the others: which is probably asked for next.
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
