import Testing

@testable import Kafka

// The partitions of a group member, and when it may commit for them. The epoch is a number that changes with each
// assignment, so that work of an earlier assignment is recognized.

private let jobs0 = TopicPartition("jobs", 0)
private let jobs1 = TopicPartition("jobs", 1)

@Test func `only paused partitions are resumed`() {
    var state = AssignmentState()
    state.recordAssignment(of: [jobs0, jobs1])
    #expect(state.resume([jobs0, jobs1]).isEmpty)
    #expect(state.pause([jobs0]) == [jobs0])
    #expect(state.pause([jobs0, jobs1]) == [jobs1])
    #expect(state.resume([jobs0]) == [jobs0])
    #expect(state.resume([jobs0]).isEmpty)
    #expect(state.pausedPartitions == [jobs1])
}

@Test func `partitions of other members are not paused`() {
    var state = AssignmentState()
    state.recordAssignment(of: [jobs0])
    #expect(state.pause([jobs1]).isEmpty)
    #expect(state.resume([jobs1]).isEmpty)
}

@Test func `a pause does not outlive its assignment`() {
    var state = AssignmentState()
    state.recordAssignment(of: [jobs0])
    _ = state.pause([jobs0])
    state.recordRevocation(of: [jobs0])
    state.recordRelease()
    state.recordAssignment(of: [jobs0])
    #expect(state.pausedPartitions.isEmpty)
}

@Test func `work keeps its epoch during a drain and loses it at the release`() {
    var state = AssignmentState()
    state.recordAssignment(of: [jobs0])
    let epoch = state.epoch
    state.recordRevocation(of: [jobs0])
    #expect(state.epoch == epoch)
    state.recordRelease()
    #expect(state.epoch != epoch)
    #expect(state.pendingRebalance == nil)
}

@Test func `a loss ends the epoch at once and only once`() {
    var state = AssignmentState()
    state.recordAssignment(of: [jobs0])
    let epoch = state.epoch
    state.recordLoss(of: [jobs0])
    #expect(state.epoch == epoch + 1)
    state.recordRelease()
    #expect(state.epoch == epoch + 1)
    state.recordAssignment(of: [jobs0])
    #expect(state.epoch == epoch + 2)
}

@Test func `a partition without a committed offset begins at its beginning`() {
    let withoutOffset = CommittedOffset(partition: jobs0, offset: nil, metadata: "")
    let withOffset = CommittedOffset(partition: jobs0, offset: 7, metadata: "x")
    #expect(withoutOffset.start == PartitionStart(partition: jobs0, position: .beginning))
    #expect(withOffset.start == PartitionStart(partition: jobs0, position: .offset(7)))
}

@Test func `after a suspension, only a later commit proves that the partitions are still ours`() {
    var state = AssignmentState()
    let withoutPartitions = state.recordSuspension()
    state.recordAssignment(of: [jobs0])
    state.recordCommitRequest()
    let withPartitions = state.recordSuspension()
    #expect(!withoutPartitions && withPartitions)
    state.recordCommitOutcome(.committed)
    #expect(state.isUncertain, "the commit was requested before the suspension")
    state.recordCommitRequest()
    state.recordCommitOutcome(.willBeReadAgain(.illegalGeneration))
    #expect(state.isUncertain)
    state.recordCommitRequest()
    state.recordCommitOutcome(.committed)
    #expect(!state.isUncertain)
}

@Test func `a new assignment clears every earlier suspicion`() {
    var state = AssignmentState()
    state.recordAssignment(of: [jobs0])
    _ = state.recordSuspension()
    state.recordLoss(of: [jobs0])
    state.recordRelease()
    state.recordAssignment(of: [jobs1])
    #expect(!state.isUncertain)
}
