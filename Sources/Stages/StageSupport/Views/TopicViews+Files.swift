internal import Kafka
package import Lifecycle
package import Store
internal import Telemetry
internal import Topics

// The files of the views: opening, closing, and repair.

extension TopicViews {
    // MARK: Opening

    /// Closes the files of all other partitions, which another process may own now.
    package func closeFiles(except numbers: some Collection<Int32>) {
        overlays = overlays.filter { numbers.contains($0.key) }
        for partition in openViews.keys where !numbers.contains(partition) {
            if let view = openViews.removeValue(forKey: partition) { close(view) }
        }
    }

    /// Opens the next file, and returns whether all are open. The loop opens one file in each iteration, because a
    /// large file is checked completely before it is used, and a group member must poll in between.
    package func openNextFile(of numbers: some Collection<Int32>) throws -> Bool {
        let closedPartitions = numbers.filter { openViews[$0] == nil }.sorted()
        isOpening = false
        guard let partition = closedPartitions.first else { return true }
        guard let view = try open(partition, of: numbers.count) else { return false }
        openViews[partition] = view
        isOpening = closedPartitions.count > 1
        return !isOpening
    }

    /// Opens a file. Returns nil if the disk is full.
    ///
    /// - Parameter count: the number of all files.
    private func open(_ partition: Int32, of count: Int) throws -> TopicView? {
        do throws(StoreError) {
            let view = try makeView(for: partition, of: count)
            logOpening(of: view)
            owner?.viewsDidReach(.opened)
            return view
        } catch {
            guard error.isTransient else { throw error }
            waitForDiskSpace(after: error)
            return nil
        }
    }

    private func makeView(for partition: Int32, of count: Int) throws(StoreError) -> TopicView {
        try TopicView(
            definition: definition, partition: partition,
            directory: "\(directory)/\(definition.table)-\(partition)",
            cluster: cluster,
            deleteRetentionMilliseconds: TopicLayout.deleteRetentionMilliseconds, limits: limits,
            now: decisionTime,
            boot: boot, restoreBytesMax: max(Self.restoreBytesMin, Self.restoreBytesMax / count))
    }

    private func logOpening(of view: TopicView) {
        metrics.countOpenedView(view.openingState)
        switch view.openingState {
        case .discarded(let reason):
            log.warning(
                "view discarded, it is built anew from its topic",
                .field("partition", view.topicPartition.partition),
                .field("reason", reason.description))
        case .empty, .resumed:
            log.debug(
                "view opened", .field("partition", view.topicPartition.partition),
                .field("offset", view.appliedOffset))
        }
    }

    func close(_ view: TopicView) {
        do throws(StoreError) {
            try view.close()
        } catch {
            log.warning(
                "a view was not closed cleanly; its file is checked more closely at the next start",
                .field("partition", view.topicPartition.partition), .field("error", error))
        }
    }

    // MARK: Failures

    /// Waits for disk space and stays in the group. If this process left, its partitions would go to another process
    /// whose disk may be as full.
    func waitForDiskSpace(after error: StoreError) {
        log.error("no room for the state of this process; its work waits", .field("error", error))
        diskFull = DiskFullState(
            retryAt: time.now().advanced(byMilliseconds: Self.retryMilliseconds),
            reason: error.description)
        owner?.startOverLater()
    }

    /// Tries a full disk again. The loop calls it once a second.
    ///
    /// - Parameter numbers: the assigned partitions. Some of their files may not be open yet.
    package func retryFullDisk(at now: Instant, opening numbers: some Collection<Int32>) throws {
        guard let diskFullState = diskFull, now >= diskFullState.retryAt else { return }
        diskFull = nil
        for partition in openViews.keys.sorted() where diskFull == nil { try writePendingRows(of: partition) }
        if diskFull == nil { _ = try openNextFile(of: numbers) }
        if diskFull == nil { log.info("there is room again; work goes on") }
    }

    /// Discards a damaged file. The file is a cache, so the view reads its topic again.
    package func rebuild(_ partition: Int32, after error: StoreError) throws {
        guard error.isCorruption else { throw error }
        log.warning(
            "a view is damaged and is rebuilt from its topic", .field("partition", partition),
            .field("error", error))
        if let view = openViews.removeValue(forKey: partition) {
            try view.markUnusable(reason: error.description)
        }
        owner?.startOverLater()
    }

    /// Closes a file whose restore failed on a full disk. It has no offset, so the next opening empties it.
    func closeUnfinishedFile(of partition: Int32) {
        if let view = openViews.removeValue(forKey: partition) { close(view) }
    }

    /// Discards the files that no longer match their topic, all in one start-over.
    func discard(_ outdatedFiles: [(partition: TopicPartition, reason: String)]) throws {
        for (topicPartition, reason) in outdatedFiles {
            guard let view = openViews.removeValue(forKey: topicPartition.partition) else { continue }
            log.warning(
                "a view does not fit its topic and is rebuilt from it",
                .field("partition", topicPartition.partition), .field("reason", reason))
            try view.markUnusable(reason: "\(topicPartition): \(reason)")
        }
        owner?.startOverLater()
    }
}
