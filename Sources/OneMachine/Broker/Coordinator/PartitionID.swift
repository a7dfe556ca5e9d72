/// One partition of one topic.
package struct PartitionID: Hashable, Sendable, Comparable {
    package let topic: String
    package let partition: Int32

    package static func < (left: PartitionID, right: PartitionID) -> Bool {
        left.topic == right.topic ? left.partition < right.partition : left.topic < right.topic
    }

    package init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }
}
