internal import Kafka

/// The mapping from record keys to the partitions of a topic, as in Kafka's clients.
struct KeyPartitioner: Sendable {
    let partitionCount: Int

    func partition(of key: [UInt8]) -> Int32 {
        Int32(Murmur2.partition(forKey: key.span, partitionCount: partitionCount))
    }
}
