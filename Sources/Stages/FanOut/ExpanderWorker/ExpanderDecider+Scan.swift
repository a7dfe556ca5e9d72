internal import Kafka
internal import Lifecycle
internal import Registry
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry

extension ExpanderDecider {
    /// Reads one page of the walk through `starts`.
    func scanNextPage(at now: Instant) throws {
        // The registry's file must contain all known activities, so that an END finds their tokens.
        let serving = assignedLanes.filter { isRegistryComplete(of: $0) }.map(\.partition)
        guard let time = stage.clock.earliestTime(at: now),
            let partition = scopeScan.nextPartition(
                of: serving, at: now, intervalMilliseconds: ScopeScan.passMilliseconds),
            let view = scopeViews[partition]
        else { return }
        var range = scopeScan.range
        var due: [LedgerKey] = []
        var expired: [[UInt8]] = []
        let more: Bool
        do throws(StoreError) {
            more = try view.readPage(of: &range, rows: ViewScan.rowsMax) { key, value in
                guard let action = ScopeScan.action(forKey: key, value: value, at: time, with: reader) else {
                    return
                }
                // This process wrote the rows that are newer than the view. They are not due yet.
                let keyBytes = [UInt8](copying: key)
                guard scopeViews.overlays[partition]?[HashedKey(keyBytes)] == nil else { return }
                switch action {
                case .sendSafetyEnd(let start): due.append(start)
                case .removeExpired: expired.append(keyBytes)
                }
            }
        } catch {
            return try scopeViews.rebuild(partition, after: error)
        }
        stage.reportStep(.pageScanned)
        guard try sendSafetyEnds(for: due, in: partition, at: time) else { return }
        for key in expired { view.remove(key: key.span) }
        if !expired.isEmpty { try scopeViews.writePendingRows(of: partition) }
        scopeScan.finishPage(
            continuingIn: more ? range : nil,
            notBefore: now.advanced(byMilliseconds: ScopeScan.pageMilliseconds))
    }

    /// Writes the safety ENDs. Returns false if they must be repeated.
    private func sendSafetyEnds(for due: [LedgerKey], in partition: Int32, at time: Int64) throws -> Bool {
        if due.isEmpty { return true }
        guard let lane = stage.member.assignedPartitions[partition] else { return false }
        return try runWithoutRequests(in: lane, at: time) { expander throws(StoreError) in
            for key in due { try expander.addSafetyEnd(for: key) }
            metrics.safetyEnds.add(expander.output.jobs)
        }
    }

    // MARK: Subscriptions to groups whose members the lane knew before it took its first records

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

    // MARK: Transactions without requests

    /// Whether the lane serves, and its registry file contains everything that was read.
    func isRegistryComplete(of lane: AssignedLane) -> Bool {
        lane.isServing && lane.registryCommitted != nil && registry.isFullyApplied(lane: lane.partition)
    }

    /// Runs a transaction of one lane that takes no requests. Returns false if it is not committed, and must be
    /// repeated.
    ///
    /// - Parameter time: the time for decisions, in milliseconds since 1970.
    func runWithoutRequests(
        in lane: AssignedLane, at time: Int64,
        body: (Expander<TransactionScopes>) throws(StoreError) -> Void
    ) throws -> Bool {
        guard let catalog, let expander = lane.expander else { return false }
        expander.beginTransaction(at: time, atLatest: times.latest, catalog: catalog)
        do throws(StoreError) {
            try body(expander)
        } catch {
            try repair(partition: lane.partition, after: error)
            return false
        }
        if expander.output.isEmpty, expander.table.isUnchanged { return true }
        // The transaction commits an offset that is committed already. So it fails if this process is not a member any
        // more.
        return try commit(
            [LaneShare(lane: lane, expander: expander, registryOffset: lane.registryCommitted)],
            of: .walks, readIn: stage.consumer.epoch)
    }
}
