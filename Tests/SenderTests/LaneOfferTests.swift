import Testing

@testable import Sender

@Suite struct LaneOfferTests {
    private func tracks(without missing: JobTopic? = nil) -> [JobTopic: LaneStart.Track] {
        var tracks: [JobTopic: LaneStart.Track] = [:]
        for topic in JobTopic.allCases where topic != missing {
            tracks[topic] = LaneStart.Track(base: Int64(topic.rawValue), note: nil)
        }
        return tracks
    }

    @Test func `a lane with all partitions is served`() {
        let offer = LaneOffer([3: tracks()])
        #expect(offer.starts[3]?.tracks.map(\.base) == [0, 1, 2, 3])
        #expect(offer.lanesWithout.isEmpty)
    }

    @Test func `a lane that lacks a partition is left out, and the topic is named`() {
        let offer = LaneOffer([0: tracks(), 1: tracks(without: .later2m), 2: tracks(without: .later2m)])
        #expect(Array(offer.starts.keys) == [0])
        #expect(offer.lanesWithout == [.later2m: 2])
    }
}
