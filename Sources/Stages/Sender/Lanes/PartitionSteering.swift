internal import Containers
internal import Lifecycle

/// The partitions that the consumer reads. A partition is paused while its sheets may not be begun or are not
/// due, and while the memory for sheets is full.
struct PartitionSteering {
    /// Whether the set of partitions to read may have changed.
    private var isChanged = false
    /// The next time at which a tier is read again.
    private(set) var nextTier = Instant.distantFuture

    mutating func change() { isChanged = true }

    mutating func steer(
        _ lanes: some Collection<Lane>, memory: inout SheetMemory, at now: Instant,
        into actions: inout DeliveryActions
    ) {
        let isMemoryChanged = memory.checkLimits()
        guard isChanged || isMemoryChanged || now >= nextTier else { return }
        isChanged = false
        nextTier = .distantFuture
        for lane in lanes {
            for topic in JobTopic.allCases {
                steer(lane, topic: topic, isFull: memory.isFull(for: topic), at: now, into: &actions)
            }
        }
    }

    private mutating func steer(
        _ lane: Lane, topic: JobTopic, isFull: Bool, at now: Instant, into actions: inout DeliveryActions
    ) {
        // The consumer has read past the sheet that is not due. The partition must be paused before it can
        // seek back.
        let deferred = lane[topic].deferred
        let isWaiting = deferred.map { $0.dueAt > now || !lane[topic].isPaused } ?? false
        if isWaiting, let deferred { nextTier = min(nextTier, deferred.dueAt) }
        let isPaused = isWaiting || isFull || !lane.mayPush || !lane[topic].ahead.isEmpty
        if isPaused == lane[topic].isPaused { return }
        if isPaused {
            lane[topic].pause()
            actions.pauses.append(DeliveryActions.PartitionPause(lane: lane.number, topic: topic))
        } else {
            let from = lane[topic].resume()
            actions.resumes.append(
                DeliveryActions.PartitionResume(lane: lane.number, topic: topic, from: from))
        }
    }
}
