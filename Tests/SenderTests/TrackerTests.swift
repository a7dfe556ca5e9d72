import Testing

@testable import Sender

@Test func `the offset to commit is the lowest unfinished sheet`() {
    var tracker = OffsetTracker(from: 10)
    #expect(tracker.base == 10)
    let begun = ([10, 12, 15, 12] as [Int64]).map { tracker.began($0) }
    #expect(begun == [true, true, true, false])
    tracker.finished(12)
    #expect(tracker.base == 10)
    tracker.finished(10)
    #expect(tracker.base == 15)
    tracker.finished(15)
    #expect(tracker.base == 16)
}
