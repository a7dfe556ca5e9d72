/// What a cluster says about a topic.
package struct TopicDescription: Sendable, Equatable {
    /// Bytes that are not UTF-8 are shown as replacement characters.
    package let name: String
    package let partitions: [Int32]
    /// The broker that leads each partition, by partition; -1 while no broker does.
    package let leaders: [Int32: Int32]
    /// Copies of the partition that has the fewest.
    package let replicas: Int
    /// Not `none` when the cluster cannot describe it.
    package let code: ErrorCode
}
