internal import Containers
internal import Lifecycle

/// The decision which partitions the consumer pauses. A partition is paused while its sheets may not be begun or are
/// not due, and while the memory for sheets is full.
struct PartitionPausing {
    /// Whether the set of partitions to pause may have changed.
    private var isChanged = false
    /// The next time at which a paused tier is read again.
    private(set) var nextTierReading = Instant.distantFuture

    /// Notes that the set of partitions to pause may have changed.
    mutating func noteChange() { isChanged = true }

    /// Begins a check of all lanes if one is needed now. Returns whether it is. Then the caller checks the lanes with
    /// `pauseOrResume`.
    mutating func beginCheckIfNeeded(_ memory: inout SheetMemory, at now: Instant) -> Bool {
        let isMemoryChanged = memory.updateLimits()
        guard isChanged || isMemoryChanged || now >= nextTierReading else { return false }
        isChanged = false
        nextTierReading = .distantFuture
        return true
    }

    /// Asks to pause and resume the partitions of a lane.
    mutating func pauseOrResume(
        _ lane: Lane, memory: SheetMemory, at now: Instant, into actions: inout DeliveryActions
    ) {
        for topic in JobTopic.allCases {
            pauseOrResume(lane, topic: topic, isFull: memory.isFull(for: topic), at: now, into: &actions)
        }
    }

    /// - Parameter isFull: whether there is no memory for more sheets of the topic.
    private mutating func pauseOrResume(
        _ lane: Lane, topic: JobTopic, isFull: Bool, at now: Instant, into actions: inout DeliveryActions
    ) {
        var waitsForDeferredSheet = false
        if let deferred = lane[topic].deferredSheet {
            // The consumer has read past the sheet that is not due. To read the sheet again, the partition must be
            // paused first and then seek back, even if the sheet is due by now.
            waitsForDeferredSheet = deferred.dueAt > now || !lane[topic].isPaused
            if waitsForDeferredSheet { nextTierReading = min(nextTierReading, deferred.dueAt) }
        }
        let mayBegin = lane.mayPush && lane[topic].sheetsAwaitingWindow.isEmpty
        let mustPause = waitsForDeferredSheet || isFull || !mayBegin
        if mustPause == lane[topic].isPaused { return }
        if mustPause {
            lane[topic].pause()
            actions.pauses.append(DeliveryActions.PartitionPause(lane: lane.number, topic: topic))
        } else {
            let from = lane[topic].resume()
            actions.resumes.append(
                DeliveryActions.PartitionResume(lane: lane.number, topic: topic, from: from))
        }
    }
}
