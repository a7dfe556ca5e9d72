/// The lanes that the group offers, with the offsets from which they are read.
///
/// If the leader of the group does not know a topic yet, it offers lanes without their partitions of this topic. Such
/// lanes are left out. The group offers them again when its leader knows the topic.
package struct LaneOffer: Sendable, Hashable {
    /// The lanes that have a partition of each jobs topic, by number.
    package private(set) var starts: [Int32: LaneStart] = [:]
    /// Number of lanes that lack a partition, by topic.
    package private(set) var lanesWithout: [JobTopic: Int] = [:]

    package init(_ partitions: [Int32: [JobTopic: LanePartitionStart]]) {
        for (lane, partitionsOfLane) in partitions {
            let missingTopics = JobTopic.allCases.filter { partitionsOfLane[$0] == nil }
            for topic in missingTopics { lanesWithout[topic, default: 0] += 1 }
            guard missingTopics.isEmpty else { continue }
            starts[lane] = LaneStart(
                lane: lane, partitions: JobTopic.allCases.compactMap { partitionsOfLane[$0] })
        }
    }
}
