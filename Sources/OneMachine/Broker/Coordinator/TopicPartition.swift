/// One partition of one topic.
struct TopicPartition: Hashable, Sendable, Comparable {
    let topic: String
    let partition: Int32

    static func < (a: TopicPartition, b: TopicPartition) -> Bool {
        a.topic == b.topic ? a.partition < b.partition : a.topic < b.topic
    }
}
