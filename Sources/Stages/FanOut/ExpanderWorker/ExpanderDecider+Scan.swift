internal import Kafka
internal import Lifecycle
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry

extension ExpanderDecider {
    /// Reads one page of the walk through `starts`.
    func scanNextPage(at now: Instant) throws {
        // The file must contain all known activities, so that an END finds its tokens.
        let serving = assignedLanes.filter {
            $0.isServing && $0.registryCommitted != nil && registry.isFullyApplied(lane: $0.partition)
        }.map(\.partition)
        guard let time = stage.clock.earliestTime(at: now),
            let partition = scopeScan.nextLane(of: serving, at: now),
            let view = scopeViews[partition]
        else { return }
        var range = scopeScan.range
        var due: [LedgerKey] = []
        var outlived: [[UInt8]] = []
        let more: Bool
        do throws(StoreError) {
            more = try view.readPage(of: &range, rows: ScopeScan.rowsMax) { key, value in
                guard let finding = ScopeScan.action(forKey: key, value: value, at: time, with: reader) else {
                    return
                }
                // This process wrote the rows that are newer than the view. They are not due yet.
                let name = [UInt8](copying: key)
                guard scopeViews.overlays[partition]?[HashedKey(name)] == nil else { return }
                switch finding {
                case .sendSafetyEnd(let start): due.append(start)
                case .removeExpired: outlived.append(name)
                }
            }
        } catch {
            return try scopeViews.rebuild(partition, after: error)
        }
        stage.reportStep(.pageScanned)
        guard try sendSafetyEnds(for: due, in: partition, at: time) else { return }
        for key in outlived { view.remove(key: key.span) }
        if !outlived.isEmpty { try scopeViews.writePendingRows(of: partition) }
        scopeScan.range = range
        if !more { scopeScan.finishLane() }
    }

    /// Writes the safety ENDs. Returns false if they must be repeated.
    private func sendSafetyEnds(for due: [LedgerKey], in partition: Int32, at time: Int64) throws -> Bool {
        if due.isEmpty { return true }
        guard let catalog, let lane = stage.member.assignedPartitions[partition], let worker = lane.worker
        else {
            return false
        }
        worker.table.removeChanges()
        worker.expander.begin(at: time, atLatest: times.latest, catalog: SnapshotCatalog(snapshot: catalog))
        do throws(StoreError) {
            for key in due { try worker.expander.addSafetyEnd(for: key, page: &page) }
        } catch {
            try repair(partition: partition, after: error)
            return false
        }
        metrics.safetyEnds.add(worker.expander.output.jobs)
        // The transaction commits an offset that is committed already. So it fails if this process is not a
        // member any more.
        return try commit(
            [LaneTransaction(lane: lane, worker: worker, registryOffset: lane.registryCommitted)],
            of: .walks,
            readIn: stage.consumer.epoch)
    }
}
