import CatalogRecords
import Testing

@testable import Kafka
@testable import Webhooks

/// Tests of `PartitionLocator`, which finds the cursor at which an endpoint begins to read a partition.
struct PartitionLocatorTests {
    private let partition = TopicPartition("x.events", 3)

    /// Answers every query of a locator. The endpoint was created at the time 50.
    ///
    /// - Parameters:
    ///   - low: The first offset of the partition.
    ///   - high: The end of the partition.
    ///   - firstSince: The first record since the time that the locator asks for. Nil for no such record.
    private func locate(
        committed: CommittedCursor?, replay: WebhookEndpoint.Replay? = nil, low: Int64 = 0, high: Int64 = 100,
        firstSince: Int64? = nil
    ) -> (locator: PartitionLocator, cursor: PartitionCursor) {
        var endpoint = WebhookEndpoint(
            app: "shop", name: "billing", url: "https://example.com", types: [.activityTapped], secrets: [],
            createdAt: 50)
        endpoint.replay = replay
        var locator = PartitionLocator(of: [partition], for: endpoint) { _ in "events" }
        while let query = locator.missingQueries.first {
            switch query {
            case .committedOffsets:
                locator.add(
                    .committedOffsets([
                        CommittedOffset(
                            partition: partition, offset: committed?.next,
                            metadata: committed?.metadata ?? "")
                    ]))
            case .watermarks: locator.add(.watermarks([partition: Watermarks(low: low, high: high)]))
            case .firstRecords(let time, _):
                locator.add(.firstRecords(sinceMilliseconds: time, [partition: firstSince]))
            }
        }
        return (locator, locator.cursor(of: partition))
    }

    @Test func `a new endpoint starts at the first record since its creation, or without one at the end`() {
        #expect(locate(committed: nil, firstSince: 70).cursor.firstNew == 70)
        #expect(locate(committed: nil, high: 100).cursor.firstNew == 100)
    }

    @Test func `an endpoint goes on at its committed cursor`() {
        let (locator, cursor) = locate(committed: CommittedCursor(next: 80, replay: 0, openOffsets: [60: 2]))
        #expect(cursor.firstNew == 80 && cursor.start == 60 && cursor.restoredAttempts(of: 60) == 2)
        #expect(locator.start(of: partition, source: .events, cursor: cursor) == 60)
        #expect(locator.start(of: partition, source: .members, cursor: cursor) == 0)
    }

    @Test func `a replay from a time goes back once, and keeps the open offsets before it`() {
        let replay = WebhookEndpoint.Replay(requestedAt: 900, start: .time(10))
        let before = CommittedCursor(next: 80, replay: 0, openOffsets: [5: 1, 60: 0])
        let cursor = locate(committed: before, replay: replay, firstSince: 20).cursor
        #expect(cursor.firstNew == 20 && cursor.start == 5)
        let afterReplay = CommittedCursor(next: 80, replay: 900)
        #expect(locate(committed: afterReplay, replay: replay).cursor.firstNew == 80)
    }

    @Test func `a replay from an offset goes back in the partition of the offset only`() {
        let before = CommittedCursor(next: 80, replay: 0)
        func firstNew(afterReplayIn number: Int32) -> Int64 {
            let replay = WebhookEndpoint.Replay(
                requestedAt: 900, start: .offset(topic: "events", partition: number, offset: 30))
            return locate(committed: before, replay: replay).cursor.firstNew
        }
        #expect(firstNew(afterReplayIn: partition.partition) == 30)
        #expect(firstNew(afterReplayIn: 4) == 80)
    }

    @Test func `deleted records are skipped and counted`() {
        let (locator, cursor) = locate(
            committed: CommittedCursor(next: 80, replay: 0, openOffsets: [60: 2]), low: 90)
        #expect(cursor == PartitionCursor(firstNew: 90))
        #expect(locator.skippedCount(of: partition) == 10)
    }
}
