internal import Kafka
internal import Store
internal import Telemetry

// Reading the topic of the views, and writing its records to their files.

extension TopicViews {
    // MARK: One read

    /// Reads records of the topic and writes them to the files. Returns the partitions whose views have read everything
    /// that was written to the topic.
    package func read(waitMilliseconds: Int32 = 0) throws -> [Int32] {
        readCount = 0
        if diskFull != nil { return [] }
        let events = reader.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        readCount = batch.count
        var changedPartitions = try bufferRecords()
        let result = try handle(events)
        if !result.outdatedFiles.isEmpty {
            try discard(result.outdatedFiles)
            return []
        }
        changedPartitions.formUnion(result.endedPartitions)
        for partition in changedPartitions { try writePendingRows(of: partition) }
        let ended = result.endedPartitions
        return ended.filter(isComplete)
    }

    /// Gives the records of the batch to their views. Returns the partitions with records.
    private func bufferRecords() throws -> Set<Int32> {
        var changedPartitions = Set<Int32>()
        // Records of one partition follow one another in the batch, so their view is looked up once.
        var last: (partition: Int32, view: TopicView?)?
        for index in 0..<batch.count {
            let partition = batch[index].partition
            if last?.partition != partition {
                last = (partition, openViews[partition])
                if last?.view != nil { changedPartitions.insert(partition) }
            }
            guard let openView = last?.view else { continue }
            do throws(StoreError) {
                try openView.buffer(batch[index])
            } catch {
                batch.clear()
                try recover(from: error, of: partition)
                return []
            }
            guard openView.pendingRowCount >= Self.writtenRowsMax else { continue }
            try writePendingRows(of: partition)
            // The view is gone if its file was damaged.
            last = (partition, openViews[partition])
        }
        batch.clear()
        return changedPartitions
    }

    /// The facts in the events of a poll.
    private struct EventResult {
        /// The partitions whose end was reached.
        var endedPartitions: [Int32] = []
        /// The files whose offset is out of range: the topic was created again, or retention deleted the records after
        /// it.
        var outdatedFiles: [(partition: TopicPartition, reason: String)] = []
    }

    private func handle(_ events: [ConsumerEvent]) throws -> EventResult {
        var result = EventResult()
        for event in events {
            switch event {
            case .reachedEnd(let partition, let offset):
                openViews[partition.partition]?.advance(to: offset, now: decisionTime)
                result.endedPartitions.append(partition.partition)
            case .queryCompleted(let id, .watermarks(let ends)) where id == endsQuery:
                try confirmFreshness(from: ends)
            case .failed(.outOfRange(let partition, let reason)):
                result.outdatedFiles.append((partition, reason))
            case .failed(.unusable(let error)):
                throw StageFailure.client(error.description)
            case .failed(let failure):
                log.warning("the topic of a view cannot be read at present", .field("error", failure))
            default: break
            }
        }
        return result
    }

    /// Whether a view has read everything that was written.
    ///
    /// A read-committed reader ends where the oldest open transaction begins. Records that the previous owner of the
    /// partition committed can lie behind that point, if their commit marker is late. So the end that the reader
    /// reports is not enough.
    private func isComplete(_ partition: Int32) -> Bool {
        guard overlays[partition] != nil, let view = openViews[partition], view.pendingRowCount == 0,
            let ends = reader.knownWatermarks(of: view.topicPartition), view.appliedOffset >= ends.high
        else { return false }
        overlays[partition]?.forgetLostRows(at: time.now())
        return true
    }

    // MARK: Writing

    /// Writes the pending rows of a view to its file. If the disk is full, they wait. If the file is damaged, it is
    /// built again.
    package func writePendingRows(of partition: Int32) throws {
        guard let view = openViews[partition], diskFull == nil else { return }
        let wasRestoring = view.isRestoring
        do throws(StoreError) {
            try writePendingRows(to: view)
            metrics.appliedOffset(of: partition).set(Double(view.appliedOffset))
            owner?.viewsDidReach(.written)
        } catch {
            // The sorted rows of a restore are lost, so the file begins again.
            if error.isTransient, wasRestoring { closeUnfinishedFile(of: partition) }
            try recover(from: error, of: partition)
        }
    }

    /// Waits for a full disk, and rebuilds a damaged file.
    private func recover(from error: StoreError, of partition: Int32) throws {
        if error.isTransient { return waitForDiskSpace(after: error) }
        try rebuild(partition, after: error)
    }

    private func writePendingRows(to view: TopicView) throws(StoreError) {
        // The overlay is taken out of the dictionary, so that it is looked up once and not for each row.
        var overlay = overlays.removeValue(forKey: view.topicPartition.partition)
        defer { overlays[view.topicPartition.partition] = overlay }
        try view.writePendingRows { overlay?.markRead($0) }
    }

    // MARK: Freshness

    /// Asks for the ends of the partitions, to confirm that the files of quiet partitions are up to date. Otherwise
    /// such a file looks as old as its last record, and the next start rebuilds it without need.
    package func confirmFreshness() {
        let partitions = overlays.keys.compactMap { openViews[$0]?.topicPartition }
        if !partitions.isEmpty { endsQuery = reader.submit(.watermarks(partitions)) }
    }

    private func confirmFreshness(from ends: [TopicPartition: Watermarks]) throws {
        for (topicPartition, watermarks) in ends where overlays[topicPartition.partition] != nil {
            guard let view = openViews[topicPartition.partition], watermarks.high <= view.appliedOffset else {
                continue
            }
            view.advance(to: view.appliedOffset, now: decisionTime)
            try writePendingRows(of: topicPartition.partition)
        }
    }
}
