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
            return lane.isServing && lane.registryCommitted != nil
                && registry.isFullyApplied(lane: lane.partition)
        }
    }

    /// Looks at the next groups of a lane, and subscribes to those without a row.
    func subscribeToKnownGroups() throws {
        guard let catalog, let lane = nextLaneToSubscribe, let worker = lane.worker,
            let file = registry[lane.partition], case .at(var cursor) = lane.subscriptionWalk
        else { return }
        worker.table.removeChanges()
        let times = times
        worker.expander.begin(
            at: times.now, atLatest: times.latest, catalog: SnapshotCatalog(snapshot: catalog))
        let groups: [Lane.GroupName]
        do throws(StoreError) {
            groups = try file.groups(behind: &cursor, countMax: Self.groupsMax)
            for group in groups { try worker.expander.subscribe(to: group.group, of: group.app) }
        } catch {
            return try repair(partition: lane.partition, after: error)
        }
        if !worker.expander.output.isEmpty {
            // The transaction commits an offset that is committed already. So it fails if this process is not a member
            // any more.
            guard
                try commit(
                    [LaneTransaction(lane: lane, worker: worker, registryOffset: lane.registryCommitted)],
                    of: .walks, readIn: stage.consumer.epoch)
            else { return }
        }
        lane.subscriptionWalk = groups.isEmpty ? .done : .at(cursor)
    }
}
