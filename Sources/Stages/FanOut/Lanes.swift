internal import Kafka
internal import LiveActivity

/// The mapping from record keys to partitions.
struct Lanes: Sendable {
    let count: Int

    func partition(of key: [UInt8]) -> Int { Murmur2.partition(of: key.span, of: count) }

    func lane(of recipient: Recipient, app: String) -> Int {
        partition(of: RecordKey.join(app, recipient.text))
    }
}
