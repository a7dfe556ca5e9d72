/// A partition whose records the tables hold.
package struct TopicPartition: Sendable, Hashable {
    package let topic: String
    package let partition: Int32

    package init(_ topic: String, _ partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// The name, a zero byte, which no topic name contains, and the number.
    var key: [UInt8] {
        Array(topic.utf8) + [0] + Int64(partition).bigEndianBytes
    }
}
