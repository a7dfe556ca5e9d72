internal import Lifecycle

// The commits of offsets while the lanes are owned. `Lane+Commits` decides for each topic of a lane.
extension LaneOwnership {
    /// Commits advanced offsets at intervals, and sooner if sheets wait for the window.
    mutating func commit(at now: Instant, into actions: inout DeliveryActions) {
        guard commits.isIdle, releaseBy == nil, !lanes.isEmpty else { return }
        // After a suspension, offsets are committed even if they have not changed: the answer shows whether the lanes
        // are still ours (`Lease`).
        let mustConfirmLanes = lease.takeDueConfirmation(
            at: now, againInMilliseconds: limits.commitMilliseconds)
        let isDue = now >= commits.nextDue || mustConfirmLanes
        if isDue {
            commits.postpone(until: now.advanced(byMilliseconds: limits.commitMilliseconds))
        } else if sheetsAwaitingWindowCount == 0 {
            return
        }
        var offsets: [DeliveryActions.OffsetCommit] = []
        // The order of the lanes does not matter here, because `ask` sorts the offsets.
        for lane in lanes.values {
            let mustConfirmLane = mustConfirmLanes && lane.hasReadReceipts
            let needsFirstMetadata = lane.needsFirstMetadata
            for topic in JobTopic.allCases {
                let isFirst = needsFirstMetadata && lane[topic].needsOwnMetadata
                if mustConfirmLane || isFirst || lane.mustCommit(topic, isDue: isDue, limits: limits) {
                    offsets.append(
                        lane.offsetCommit(of: topic, window: limits.window, hasNothingInFlight: false))
                }
            }
        }
        commits.ask(for: offsets, isLast: false, into: &actions)
    }

    /// Handles the group's answer to the commits with this number. Returns the sheets that begin.
    mutating func committed(
        _ number: Int, isAccepted: Bool, at now: Instant, into actions: inout DeliveryActions
    ) -> [Sheet] {
        switch commits.answered(number, isAccepted: isAccepted) {
        case .outdated, .refused: return []
        case .lastIsDone:
            removeAllLanes(at: now, into: &actions)
            return []
        case .done(let offsets):
            var begun: [Sheet] = []
            for commit in offsets {
                guard let lane = lanes[commit.lane] else { continue }
                lane[commit.topic].committed(commit.offset, with: commit.metadata)
                begun += takeSheetsInWindow(of: lane, topic: commit.topic)
            }
            return begun
        }
    }
}
