/// What a cluster says about a topic.
package struct TopicDescription: Sendable, Equatable {
    /// Bytes that are not UTF-8 are shown as replacement characters.
    package let name: String
    package let partitions: [Int32]
    /// Not `none` when the cluster cannot describe it.
    package let code: ErrorCode
}
