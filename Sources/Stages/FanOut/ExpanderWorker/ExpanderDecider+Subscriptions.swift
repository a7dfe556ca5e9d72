internal import Kafka
internal import Lifecycle
internal import Registry
internal import Sends
internal import StageSupport
internal import Store

// The subscriptions to groups whose members the lane knew before it took its first records.

extension ExpanderDecider {
    /// The most groups that one transaction looks at.
    private static let groupsMax = 2000

    /// A lane that has not looked at all of its groups, and whose registry is complete.
    var nextLaneToSubscribe: AssignedLane? {
        assignedLanes.first { lane in
            guard case .at = lane.subscriptionWalk else { return false }
            return isRegistryComplete(of: lane)
        }
    }

    /// Looks at the next groups of a lane, and subscribes to those without a row.
    func subscribeToKnownGroups() throws {
        guard let lane = nextLaneToSubscribe, let file = registry[lane.partition],
            case .at(var cursor) = lane.subscriptionWalk
        else { return }
        var isDone = false
        let isCommitted = try runWithoutRequests(in: lane, at: times.now) { expander throws(StoreError) in
            let groups = try file.groups(behind: &cursor, countMax: Self.groupsMax)
            for group in groups { try expander.subscribe(to: group.group, of: group.app) }
            isDone = groups.isEmpty
        }
        if isCommitted { lane.subscriptionWalk = isDone ? .done : .at(cursor) }
    }
}
