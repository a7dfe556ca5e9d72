/// A cluster's description of a topic.
package struct TopicDescription: Sendable, Equatable {
    /// The name. Bytes that are not UTF-8 become replacement characters.
    package let name: String
    package let partitions: [Int32]
    /// The broker that leads each partition, or -1 while no broker does.
    package let leaders: [Int32: Int32]
    /// The number of replicas of the partition with the fewest.
    package let replicas: Int
    /// An error if the cluster cannot describe the topic, otherwise `none`.
    package let code: KafkaErrorCode
}
