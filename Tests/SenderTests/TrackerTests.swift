import Testing

@testable import Sender

@Test func `the offset to commit is the lowest unfinished sheet`() {
    var tracker = OffsetTracker(from: 10)
    #expect(tracker.offsetToCommit == 10)
    let begun = ([10, 12, 15, 12] as [Int64]).map { tracker.markRead($0) }
    #expect(begun == [true, true, true, false])
    tracker.finish(12)
    #expect(tracker.offsetToCommit == 10)
    tracker.finish(10)
    #expect(tracker.offsetToCommit == 15)
    tracker.finish(15)
    #expect(tracker.offsetToCommit == 16)
}
