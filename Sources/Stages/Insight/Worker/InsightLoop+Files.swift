internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

extension InsightLoop {
    /// Opens the files of at most one lane. A large file is checked completely, and the member must poll
    /// between two lanes.
    func openNextLane() {
        let now = Instant.now()
        guard let (partition, _) = unopenedLanes.filter({ now >= $0.value }).min(by: { $0.key < $1.key })
        else {
            return
        }
        do {
            let lane = try openFiles(ofLane: partition)
            lanes[partition] = lane
            endOffsets.add(partitions(ofLane: partition), at: now)
            openLanes.add(OpenLane(files: lane))
            publishAsOf(lane)
            unopenedLanes[partition] = nil
            laneProblems[partition] = nil
            onStep(.laneOpened)
        } catch {
            unopenedLanes[partition] = now.advanced(byMilliseconds: Self.retryMilliseconds)
            let previousProblem = laneProblems.updateValue("\(error)", forKey: partition)
            if previousProblem != "\(error)" {
                log.error(
                    "a lane's files cannot be opened now; its figures stand still",
                    .field("lane", partition), .field("error", "\(error)"))
            }
        }
    }

    private func openFiles(ofLane partition: Int32) throws -> LaneFiles {
        let topicPartitions = partitions(ofLane: partition)
        func fileDirectory(of topic: InsightTopic) -> String {
            "\(directory)/\(topic.name.rawValue)-\(partition)"
        }
        let receipts = try ReceiptFile(
            directory: fileDirectory(of: .receipts), of: topicPartitions[InsightTopic.receipts.rawValue],
            cluster: cluster,
            limits: settings.viewLimits, boot: boot, reader: reader)
        let events = try EventFile(
            directory: fileDirectory(of: .events), of: topicPartitions[InsightTopic.events.rawValue],
            cluster: cluster)
        let rows = try InsightTopic.allCases.compactMap { topic in
            try topic.mapping.map { mapping in
                try RowFile(
                    directory: fileDirectory(of: topic), mapping: mapping,
                    of: topicPartitions[topic.rawValue],
                    ageMax: topic.ageMaxMilliseconds,
                    cluster: cluster, limits: settings.viewLimits, boot: boot)
            }
        }
        let lane = LaneFiles(partition: partition, receipts: receipts, events: events, rows: rows)
        for topic in InsightTopic.allCases {
            report(lane.files[topic.rawValue].openingState, model: topic.name.rawValue, lane: partition)
        }
        return lane
    }

    private func report(_ openingState: OpeningState, model: String, lane partition: Int32) {
        switch openingState {
        case .empty: metrics.files(model: model, beginning: "empty").add()
        case .resumed: metrics.files(model: model, beginning: "resumed").add()
        case .discarded(let reason):
            metrics.files(model: model, beginning: "discarded").add()
            log.warning(
                "file discarded, it is rebuilt from its topic", .field("model", model),
                .field("lane", partition), .field("reason", reason.description))
        }
    }

    /// Repairs a lane after an error of one of its files. If the file is full, its topic pauses, so that only this
    /// part of the lane's history stands still.
    func recover(_ lane: LaneFiles, from failure: LaneFileFailure, of topic: InsightTopic) {
        if failure.isFileFull {
            let partition = TopicPartition(layout.name(of: topic.name), lane.partition)
            let retryAt = Instant.now().advanced(byMilliseconds: Self.fullFileMilliseconds)
            let isPausedAlready = fullFiles.updateValue(retryAt, forKey: partition) != nil
            // A paused topic writes no record, so the deletion of old rows has failed. The lane stays open.
            if isPausedAlready { return }
            log.error(
                "a lane's file is full; its topic pauses, and the others go on: shorten insight.keep-receipts or insight.keep-events, or use more lanes in a new installation",
                .field("partition", partition.description), .field("reason", failure.message))
        }
        reopen(lane: lane.partition, after: failure)
    }

    /// Reads the topics again whose files were full long enough ago.
    func resumeFullFiles(at now: Instant) {
        for (partition, retryAt) in fullFiles where now >= retryAt {
            fullFiles[partition] = nil
            if lanes[partition.partition] != nil { endOffsets.add([partition], at: now) }
        }
    }

    /// Closes a lane's files and schedules their reopening. A damaged file is rebuilt.
    func reopen(lane partition: Int32, after failure: LaneFileFailure) {
        guard let lane = lanes.removeValue(forKey: partition) else { return }
        openLanes.remove(partition: partition)
        endOffsets.remove(partitions(ofLane: partition))
        consumer.pause(partitions(ofLane: partition))
        metrics.startedOver.add()
        log.warning(
            "a lane is read again from where its files stand", .field("lane", partition),
            .field("reason", failure.message))
        do {
            for topic in InsightTopic.allCases {
                let file = lane.files[topic.rawValue]
                if topic == failure.damagedTopic {
                    try file.markUnusable(because: failure.message)
                } else {
                    try file.close()
                }
            }
        } catch {
            log.warning(
                "a lane's files were not closed properly", .field("lane", partition),
                .field("error", "\(error)"))
        }
        unopenedLanes[partition] = Instant.now().advanced(byMilliseconds: Self.retryMilliseconds)
        laneProblems[partition] = failure.message
    }

    /// Closes the files of all lanes and forgets the assignment.
    func closeAll() {
        for lane in lanes.values {
            openLanes.remove(partition: lane.partition)
            do {
                try lane.close()
            } catch {
                log.warning(
                    "a lane's files were not closed properly; the next start checks them completely",
                    .field("lane", lane.partition), .field("error", "\(error)"))
            }
        }
        lanes = [:]
        unopenedLanes = [:]
        laneProblems = [:]
        endOffsets.removeAll()
        fullFiles = [:]
        mustStartPartitions = false
    }
}
