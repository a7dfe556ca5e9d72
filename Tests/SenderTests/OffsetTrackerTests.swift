import Testing

@testable import Sender

@Test func `the offset to commit is the lowest unfinished sheet`() {
    var tracker = OffsetTracker(from: 10)
    #expect(tracker.offsetToCommit == 10)
    // Kafka leaves gaps between offsets.
    for offset: Int64 in [10, 12, 15] { tracker.markRead(offset) }
    tracker.finish(12)
    #expect(tracker.offsetToCommit == 10)
    tracker.finish(10)
    #expect(tracker.offsetToCommit == 15)
    tracker.finish(15)
    #expect(tracker.offsetToCommit == 16)
}
