internal import Lifecycle

// The ways in which lanes are given up. The group can revoke them in order: pushes in flight finish, and the last
// offsets are committed. Or the lanes are lost: they already belong to other processes.
extension LaneOwnership {
    /// Begins to give up all lanes. Returns them, so that their unsent lines are left to the next owner.
    mutating func beginRelease(by deadline: Instant) -> [Lane] {
        releaseBy = deadline
        let leaving = inOrder
        for lane in leaving { lane.phase = .releasing(lane.phase.progress) }
        forgetWaitingSheets(of: leaving)
        return leaving
    }

    /// Commits the last offsets when every lane is drained or the deadline has passed. `removeAllLanes` follows when
    /// the group has answered.
    mutating func finishRelease(at now: Instant, into actions: inout DeliveryActions) {
        guard let releaseBy, !commits.isLastAsked else { return }
        guard lanes.values.allSatisfy(\.isDrained) || now >= releaseBy else { return }
        var offsets: [DeliveryActions.OffsetCommit] = []
        for lane in inOrder {
            if !lane.isDrained { actions.events.append(.drainedLate(lane: lane.number)) }
            // Before the receipts are read nothing is begun, and the earlier owner's metadata stays valid.
            guard lane.hasReadReceipts else { continue }
            for topic in JobTopic.allCases {
                offsets.append(
                    lane.offsetCommit(of: topic, window: limits.window, hasNothingInFlight: lane.isDrained))
            }
        }
        commits.ask(for: offsets, isLast: true, into: &actions)
    }

    /// Handles the loss of all lanes to other processes. Returns them. A call of `removeAllLanes` has to follow.
    mutating func lost(at now: Instant) -> [Lane] {
        let leaving = inOrder
        makeOrphans(of: leaving, at: now)
        forgetWaitingSheets(of: leaving)
        return leaving
    }

    /// Removes all lanes, so that the group may assign them to other processes. Lanes with pushes in flight become
    /// orphans.
    mutating func removeAllLanes(at now: Instant, into actions: inout DeliveryActions) {
        let undrained = inOrder.filter { !$0.isDrained }
        makeOrphans(of: undrained, at: now)
        orphans += undrained
        lanes.removeAll()
        commits.forget()
        lease.forgetConfirmation()
        releaseBy = nil
        actions.isReleased = true
    }

    private func makeOrphans(of leaving: [Lane], at now: Instant) {
        // The next owner waits for the whole settling time before it reads our last receipts. So in the first half of
        // this time, records that need a lease may still be written. A process that was suspended does not know since
        // when the lanes belong to another process, so it writes none.
        let leaseMilliseconds = lease.needsConfirmation ? 0 : limits.settleMilliseconds / 2
        let leaseUntil = now.advanced(byMilliseconds: leaseMilliseconds)
        for lane in leaving { lane.phase = .orphaned(lane.phase.progress, leaseUntil: leaseUntil) }
    }

    /// Forgets the sheets that were not begun. The next owner reads them.
    private mutating func forgetWaitingSheets(of leaving: [Lane]) {
        for lane in leaving {
            pausing.noteChange()
            _ = lane.takeSheetsHeldForEarlierOwner()
            for topic in JobTopic.allCases {
                sheetsAwaitingWindowCount -= lane[topic].forgetSheetsAwaitingWindow()
            }
        }
    }
}
