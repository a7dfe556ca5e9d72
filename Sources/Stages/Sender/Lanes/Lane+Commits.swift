internal import Containers

// The offsets that a lane commits, with the metadata that tells the next owner which sheets may have been begun.
extension Lane {
    /// Returns whether a topic's offset is committed now: it has advanced, sheets wait for its metadata, or its
    /// metadata is old.
    ///
    /// - Parameter isDue: whether the interval between two commits is over.
    func mustCommit(_ topic: JobTopic, isDue: Bool, limits: SenderLimits) -> Bool {
        let hasAdvanced = self[topic].tracker.offsetToCommit > self[topic].committedOffset
        if hasAdvanced, isDue || !self[topic].sheetsAwaitingWindow.isEmpty { return true }
        if waitsForMetadata(of: topic, window: limits.window) { return true }
        return isDue && isMetadataOld(of: topic, limits: limits)
    }

    /// Returns whether sheets wait until our own metadata is committed.
    private func waitsForMetadata(of topic: JobTopic, window: Int64) -> Bool {
        let partition = self[topic]
        if partition.sheetsAwaitingWindow.isEmpty { return false }
        if partition.needsOwnMetadata { return true }
        // While the earlier owner settles, sheets above its window may begin within a window of ours.
        return phase.waitsForEarlierOwner && partition.windowEnd < partition.earlierWindowEnd + window
    }

    /// Returns whether the next owner would read many more receipts than needed. This also covers a topic without
    /// traffic, which has no other reason to commit.
    private func isMetadataOld(of topic: JobTopic, limits: SenderLimits) -> Bool {
        let committedFrom = self[topic].committedReceiptsFrom
        // New metadata names an offset up to `receiptsEnd`. If even that is near, the metadata need not be made.
        guard phase == .open, receiptsEnd - committedFrom > limits.receiptsBehindMax else { return false }
        let newMetadata = metadata(of: topic, window: limits.window, hasNothingInFlight: false)
        return newMetadata.receiptsFrom - committedFrom > limits.receiptsBehindMax
    }

    /// Whether a topic needs our own metadata at once. The metadata of the other topics is committed with it,
    /// so that they do not wait for a later commit.
    var needsFirstMetadata: Bool {
        JobTopic.allCases.contains { topic in
            !self[topic].sheetsAwaitingWindow.isEmpty && self[topic].needsOwnMetadata
        }
    }

    /// Returns a topic's offset and metadata as they are now.
    ///
    /// - Parameter hasNothingInFlight: whether all our pushes have ended and all records are stored.
    func offsetCommit(
        of topic: JobTopic, window: Int64, hasNothingInFlight: Bool
    ) -> DeliveryActions.OffsetCommit {
        DeliveryActions.OffsetCommit(
            lane: number, topic: topic, offset: self[topic].tracker.offsetToCommit,
            metadata: metadata(of: topic, window: window, hasNothingInFlight: hasNothingInFlight))
    }

    /// Returns the metadata for the next owner.
    private func metadata(of topic: JobTopic, window: Int64, hasNothingInFlight: Bool) -> CommitMetadata {
        let receiptsFrom = self[topic].receiptsForNextOwner(end: receiptsEnd)
        let partition = self[topic]
        // The window must cover all sheets that we or an earlier owner may have begun.
        var windowEnd = max(partition.windowEnd, partition.earlierWindowEnd)
        // While sheets of an earlier owner wait, the window also covers offsets above them, so that later sheets begin.
        if phase.waitsForEarlierOwner { windowEnd = max(windowEnd, partition.earlierWindowEnd + window) }
        // While an earlier owner may have pushes in flight, the next owner has to wait for it too, even if it is us.
        return CommitMetadata(
            receiptsFrom: receiptsFrom, window: max(window, windowEnd - partition.tracker.offsetToCommit),
            endedAt: hasNothingInFlight && haveEarlierPushesEnded ? receiptsEnd : nil,
            owner: haveEarlierPushesEnded ? owner : nil)
    }
}
