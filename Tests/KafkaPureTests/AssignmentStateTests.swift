import Testing

@testable import Kafka

// The partitions of a group member, and when it may commit for them.

private let a = TopicPartition("jobs", 0)
private let b = TopicPartition("jobs", 1)

@Test func `only paused partitions are resumed`() {
    var state = AssignmentState()
    state.recordAssignment(of: [a, b])
    #expect(state.resume([a, b]).isEmpty)
    #expect(state.pause([a]) == [a])
    #expect(state.pause([a, b]) == [b])
    #expect(state.resume([a]) == [a])
    #expect(state.resume([a]).isEmpty)
    #expect(state.pausedPartitions == [b])
}

@Test func `partitions of other members are not paused`() {
    var state = AssignmentState()
    state.recordAssignment(of: [a])
    #expect(state.pause([b]).isEmpty)
    #expect(state.resume([b]).isEmpty)
}

@Test func `a pause does not outlive its assignment`() {
    var state = AssignmentState()
    state.recordAssignment(of: [a])
    _ = state.pause([a])
    state.recordRevocation(of: [a])
    state.recordRelease()
    state.recordAssignment(of: [a])
    #expect(state.pausedPartitions.isEmpty)
}

@Test func `work keeps its epoch during a drain and loses it at the release`() {
    var state = AssignmentState()
    state.recordAssignment(of: [a])
    let epoch = state.epoch
    state.recordRevocation(of: [a])
    #expect(state.epoch == epoch)
    state.recordRelease()
    #expect(state.epoch != epoch)
    #expect(state.pendingRebalance == nil)
}

@Test func `a loss ends the epoch at once and only once`() {
    var state = AssignmentState()
    state.recordAssignment(of: [a])
    let epoch = state.epoch
    state.recordLoss(of: [a])
    #expect(state.epoch == epoch + 1)
    state.recordRelease()
    #expect(state.epoch == epoch + 1)
    state.recordAssignment(of: [a])
    #expect(state.epoch == epoch + 2)
}

@Test func `a partition without a committed offset begins at its beginning`() {
    let none = CommittedOffset(partition: a, offset: nil, metadata: "")
    let some = CommittedOffset(partition: a, offset: 7, metadata: "x")
    #expect(none.start == PartitionStart(partition: a, position: .beginning))
    #expect(some.start == PartitionStart(partition: a, position: .offset(7)))
}

@Test func `after a stop, only a later commit proves that the partitions are still ours`() {
    var state = AssignmentState()
    let withoutPartitions = state.recordSuspension()
    state.recordAssignment(of: [a])
    state.recordCommitRequest()
    let withPartitions = state.recordSuspension()
    #expect(!withoutPartitions && withPartitions)
    state.recordCommitOutcome(.committed)
    #expect(state.isUncertain, "the commit was requested before the stop")
    state.recordCommitRequest()
    state.recordCommitOutcome(.willBeReadAgain(.illegalGeneration))
    #expect(state.isUncertain)
    state.recordCommitRequest()
    state.recordCommitOutcome(.committed)
    #expect(!state.isUncertain)
}

@Test func `a new assignment clears every earlier suspicion`() {
    var state = AssignmentState()
    state.recordAssignment(of: [a])
    _ = state.recordSuspension()
    state.recordLoss(of: [a])
    state.recordRelease()
    state.recordAssignment(of: [b])
    #expect(!state.isUncertain)
}
