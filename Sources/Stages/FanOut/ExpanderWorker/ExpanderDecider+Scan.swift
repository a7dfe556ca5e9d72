internal import Kafka
internal import Lifecycle
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
            for key in due { try expander.addSafetyEnd(for: key, page: &page) }
            metrics.safetyEnds.add(expander.output.jobs)
        }
    }

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
        body: (inout Expander<TransactionScopes>) throws(StoreError) -> Void
    ) throws -> Bool {
        guard let catalog, let worker = lane.worker else { return false }
        worker.begin(at: time, atLatest: times.latest, catalog: catalog)
        do throws(StoreError) {
            try body(&worker.expander)
        } catch {
            try repair(partition: lane.partition, after: error)
            return false
        }
        if worker.expander.output.isEmpty, worker.table.isUnchanged { return true }
        // The transaction commits an offset that is committed already. So it fails if this process is not a
        // member any more.
        return try commit(
            [LaneShare(lane: lane, worker: worker, registryOffset: lane.registryCommitted)],
            of: .walks, readIn: stage.consumer.epoch)
    }
}
