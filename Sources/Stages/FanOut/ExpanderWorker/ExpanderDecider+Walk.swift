internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

extension ExpanderDecider {
    /// Reads one page of the walk through `starts`.
    func walkOn(_ now: Instant) throws {
        // The file must contain all known activities, so that an END finds its tokens.
        let serving = owned.filter {
            $0.isServing && $0.registryCommitted != nil && registry.isFullyApplied(lane: $0.partition)
        }.map(\.partition)
        guard let time = stage.clock.surelyPast(at: now),
            let partition = startsWalk.nextLane(of: serving, at: now),
            let view = starts[partition]
        else { return }
        var range = startsWalk.range
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
                guard starts.overlays[partition]?[HashedKey(name)] == nil else { return }
                switch finding {
                case .sendSafetyEnd(let start): due.append(start)
                case .removeExpired: outlived.append(name)
                }
            }
        } catch {
            return try starts.rebuild(partition, after: error)
        }
        stage.reached(.scanned)
        guard try endSafely(due, in: partition, at: time) else { return }
        for key in outlived { view.remove(key: key.span) }
        if !outlived.isEmpty { try starts.writePendingRows(of: partition) }
        startsWalk.range = range
        if !more { startsWalk.finishLane() }
    }

    /// Writes the safety ENDs. Returns false if they must be repeated.
    private func endSafely(_ due: [LedgerKey], in partition: Int32, at time: Int64) throws -> Bool {
        if due.isEmpty { return true }
        guard let catalog, let lane = stage.member.owned[partition], let worker = lane.worker else {
            return false
        }
        worker.table.removeChanges()
        worker.expander.begin(at: time, atLatest: times.latest, catalog: ExpanderView(view: catalog))
        do throws(StoreError) {
            for key in due { try worker.expander.addSafetyEnd(for: key, page: &page) }
        } catch {
            try repair(partition, error)
            return false
        }
        metrics.safetyEnds.add(worker.expander.output.jobs)
        // The transaction commits an offset that is committed already. So it fails if this process is not a
        // member any more.
        return try commit(
            [LaneShare(lane: lane, worker: worker, registryOffset: lane.registryCommitted)], of: .normal,
            readIn: stage.consumer.epoch)
    }
}
