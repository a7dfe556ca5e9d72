import Testing

@testable import Sender

/// Tests of the lanes that a process can serve after an assignment: those of which it got the partition of each job
/// topic.
@Suite struct LaneOfferTests {
    /// Returns the partitions of a lane. The base offset of each is the number of its topic.
    private func partitions(without missing: JobTopic? = nil) -> [JobTopic: LanePartitionStart] {
        var partitions: [JobTopic: LanePartitionStart] = [:]
        for topic in JobTopic.allCases where topic != missing {
            partitions[topic] = LanePartitionStart(base: Int64(topic.rawValue), metadata: nil)
        }
        return partitions
    }

    @Test func `a lane with all partitions is served`() {
        let offer = LaneOffer([3: partitions()])
        #expect(offer.starts[3]?.partitions.map(\.base) == [0, 1, 2, 3])
        #expect(offer.lanesWithout.isEmpty)
    }

    @Test func `a lane that lacks a partition is left out, and the topic is named`() {
        let offer = LaneOffer([
            0: partitions(), 1: partitions(without: .later2m), 2: partitions(without: .later2m),
        ])
        #expect(Array(offer.starts.keys) == [0])
        #expect(offer.lanesWithout == [.later2m: 2])
    }
}
