internal import Identifiers
internal import Kafka

/// The mapping from record keys to partitions.
struct LanePartitioner: Sendable {
    let laneCount: Int

    func partition(of key: [UInt8]) -> Int { Murmur2.partition(forKey: key.span, partitionCount: laneCount) }

    func lane(of recipient: Recipient, app: String) -> Int {
        partition(of: RecordKey.join(app, recipient.text))
    }
}
