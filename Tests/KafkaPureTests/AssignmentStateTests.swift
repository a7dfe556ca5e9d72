import Testing

@testable import Kafka

private let a = TopicPartition("jobs", 0)
private let b = TopicPartition("jobs", 1)

@Test func `only paused partitions are resumed`() {
    var state = AssignmentState()
    state.assigned([a, b])
    #expect(state.resume([a, b]).isEmpty)
    #expect(state.pause([a]) == [a])
    #expect(state.pause([a, b]) == [b])
    #expect(state.resume([a]) == [a])
    #expect(state.resume([a]).isEmpty)
    #expect(state.paused == [b])
}

@Test func `partitions of other members are not paused`() {
    var state = AssignmentState()
    state.assigned([a])
    #expect(state.pause([b]).isEmpty)
    #expect(state.resume([b]).isEmpty)
}

@Test func `a pause does not outlive its assignment`() {
    var state = AssignmentState()
    state.assigned([a])
    _ = state.pause([a])
    state.revoked([a])
    state.released()
    state.assigned([a])
    #expect(state.paused.isEmpty)
}

@Test func `work keeps its epoch during a drain and loses it at the release`() {
    var state = AssignmentState()
    state.assigned([a])
    let epoch = state.epoch
    state.revoked([a])
    #expect(state.epoch == epoch)
    state.released()
    #expect(state.epoch != epoch)
    #expect(state.pending == nil)
}

@Test func `a loss ends the epoch at once and only once`() {
    var state = AssignmentState()
    state.assigned([a])
    let epoch = state.epoch
    state.lost([a])
    #expect(state.epoch == epoch + 1)
    state.released()
    #expect(state.epoch == epoch + 1)
    state.assigned([a])
    #expect(state.epoch == epoch + 2)
}

@Test func `a partition without a committed offset begins at its beginning`() {
    let none = CommittedOffset(partition: a, offset: nil, metadata: "")
    let some = CommittedOffset(partition: a, offset: 7, metadata: "x")
    #expect(none.start == PartitionStart(a, .beginning))
    #expect(some.start == PartitionStart(a, .offset(7)))
}

@Test func `after a stop, only a later commit proves that the partitions are still ours`() {
    var state = AssignmentState()
    let withoutPartitions = state.suspended()
    state.assigned([a])
    state.commitAsked()
    let withPartitions = state.suspended()
    #expect(!withoutPartitions && withPartitions)
    state.commitAnswered(.committed)
    #expect(state.isSuspect, "the commit was requested before the stop")
    state.commitAsked()
    state.commitAnswered(.willBeReadAgain(.illegalGeneration))
    #expect(state.isSuspect)
    state.commitAsked()
    state.commitAnswered(.committed)
    #expect(!state.isSuspect)
}

@Test func `a new assignment clears every earlier suspicion`() {
    var state = AssignmentState()
    state.assigned([a])
    _ = state.suspended()
    state.lost([a])
    state.released()
    state.assigned([b])
    #expect(!state.isSuspect)
}
