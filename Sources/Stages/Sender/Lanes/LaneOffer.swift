/// The lanes that the group offers, with their starts.
///
/// A leader of the group that does not know a topic yet offers lanes without their partition of it. Such a lane is
/// left out. The group offers it again when its leader knows the topic.
package struct LaneOffer: Sendable, Hashable {
    /// Lanes that have a partition of each jobs topic.
    package private(set) var starts: [Int32: LaneStart] = [:]
    /// Number of lanes that lack a partition, by topic.
    package private(set) var lanesWithout: [JobTopic: Int] = [:]

    package init(_ partitions: [Int32: [JobTopic: LanePartitionStart]]) {
        for (lane, found) in partitions {
            let missing = JobTopic.allCases.filter { found[$0] == nil }
            for topic in missing { lanesWithout[topic, default: 0] += 1 }
            guard missing.isEmpty else { continue }
            starts[lane] = LaneStart(lane: lane, partitions: JobTopic.allCases.compactMap { found[$0] })
        }
    }
}
