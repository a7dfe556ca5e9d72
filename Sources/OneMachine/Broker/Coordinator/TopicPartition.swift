/// One partition of one topic.
struct TopicPartition: Hashable, Sendable, Comparable {
    let topic: String
    let partition: Int32

    static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        left.topic == right.topic ? left.partition < right.partition : left.topic < right.topic
    }
}
