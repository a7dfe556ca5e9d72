internal import Kafka

/// The mapping from record keys to partitions.
struct Lanes: Sendable {
    let count: Int

    func partition(of key: [UInt8]) -> Int32 { Int32(Murmur2.partition(of: key.span, of: count)) }
}
