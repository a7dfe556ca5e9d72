internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

extension InsightLoop {
    private func partitions(ofLane partition: Int32) -> [TopicPartition] {
        InsightTopic.allCases.map { TopicPartition(layout.name(of: $0.name), partition) }
    }

    // MARK: Assignments

    func handle(_ event: ConsumerEvent) throws {
        membership.handle(event)
        switch event {
        case .offered(let partitions): recordOffer(of: partitions)
        case .revoked, .lost:
            closeAll()
            offered = nil
            try consumer.release()
        case .reachedEnd(let place, let offset):
            if let topic = topic(of: place) { lanes[place.partition]?.recordEnd(offset, of: topic) }
        case .committed(_, let outcome):
            // After a failed commit all offsets are committed again, because no new record may come for a
            // day.
            if outcome != .committed { committed = [:] }
        case .suspended, .queryCompleted: break
        case .failed(let failure): try handle(failure)
        }
    }

    private func topic(of place: TopicPartition) -> InsightTopic? {
        consumer.topics.firstIndex(of: place.topic).flatMap(InsightTopic.init)
    }

    private func handle(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let place, _):
            guard let topic = topic(of: place), let lane = lanes[place.partition] else { return }
            lane.stopReading(topic)
            consumer.pause([place])
            endOffsets.add([place], at: Instant.now().advanced(byMilliseconds: Self.retryMilliseconds))
        case .partition, .client:
            failedAt = .now()
            log.warning("records cannot be read now", .field("error", failure))
        case .unusable: throw StageFailure.client(failure.description)
        }
    }

    /// Accepts an offered assignment. All topics have the same partitions and members, so all parts of a lane
    /// reach the same member.
    private func recordOffer(of partitions: [TopicPartition]) {
        closeAll()
        committed = [:]
        offered = partitions
        nextOfferAttempt = .now()
    }

    /// Takes over the offered lanes. Reading starts later, when the lane's files give the offsets.
    func takeOverOfferedLanes() throws {
        let now = Instant.now()
        guard let offered, now >= nextOfferAttempt else { return }
        do throws(KafkaError) {
            try consumer.assignPaused(offered)
        } catch {
            if error.code.isAccessRefused { throw error }
            nextOfferAttempt = now.advanced(byMilliseconds: Self.retryMilliseconds)
            log.warning("lanes cannot be taken over now; the stage tries again", .field("error", error))
            return
        }
        self.offered = nil
        for (partition, parts) in Dictionary(grouping: offered, by: \.partition) {
            if parts.count == InsightTopic.allCases.count {
                unopenedLanes[partition] = now
            } else {
                log.error(
                    "topics are not assigned alike; check that all members run the same version",
                    .field("partition", partition))
            }
        }
        log.info("lanes assigned", .field("count", unopenedLanes.count))
        onStep(.lanesAssigned)
    }

    // MARK: Files

    /// Opens one lane per iteration. A large file is checked completely, and the member must poll in between.
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
            self.openLanes.add(OpenLane(files: lane))
            publishAsOf(lane)
            unopenedLanes[partition] = nil
            laneProblems[partition] = nil
            onStep(.laneOpened)
        } catch {
            unopenedLanes[partition] = now.advanced(byMilliseconds: Self.retryMilliseconds)
            if laneProblems.updateValue("\(error)", forKey: partition) != "\(error)" {
                log.error(
                    "a lane's files cannot be opened now; its figures stand still",
                    .field("lane", partition), .field("error", "\(error)"))
            }
        }
    }

    /// Asks for the ends of partitions, and begins those whose ends are known now.
    func startReading(at now: Instant) {
        endOffsets.submitDueQuery(at: now, with: endOffsetClient.submit)
        for (question, answer) in endOffsetClient.takeQueryResults() {
            for found in endOffsets.handle(answer, to: question, at: now) {
                startReading(found.partition, between: found.ends)
            }
        }
        startAllPartitions(at: now)
    }

    /// Begins to read a partition of an open lane.
    private func startReading(_ place: TopicPartition, between ends: Watermarks) {
        guard let lane = lanes[place.partition], let topic = topic(of: place) else { return }
        let mark = lane.files[topic.rawValue].position
        switch mark.match(ends: ends, of: topic.name, isCompacted: layout.isCompacted(topic.name)) {
        case .continues: break
        case .nothingMissing: lane.skip(topic, to: ends.low)
        case .recordsExpired(let gap):
            log.error(
                "records were deleted before insight read them; its figures lack them: find out why the stage stood still",
                .field("partition", place.description), .field("from", gap.committed),
                .field("to", ends.low))
            consumer.countSkippedOffsets(gap.missingCount)
            lane.skip(topic, to: ends.low)
        case .differentTopic(let gap):
            return reopen(
                lane: place.partition,
                after: LaneFileFailure(
                    error: StoreError.corrupt(path: place.description, damage: gap.description), of: topic))
        }
        lane.startReading(topic, from: ends.low)
        mustStartPartitions = true
    }

    /// The pause between two beginnings. Each one fetches all partitions again.
    private static let startIntervalMilliseconds = 1000

    /// Gives the client every partition whose ends are known. No batch is in hand, because its records come again.
    private func startAllPartitions(at now: Instant) {
        let isOpening = unopenedLanes.values.contains { $0 <= now }
        guard mustStartPartitions, !isOpening || now >= nextPartitionStart else { return }
        nextPartitionStart = now.advanced(byMilliseconds: Self.startIntervalMilliseconds)
        commitFiles()
        let positions = lanes.values.flatMap(\.startPositions)
        do throws(KafkaError) {
            consumer.resume(positions.map(\.partition))
            try consumer.startReading(at: positions)
            mustStartPartitions = false
        } catch {
            log.warning("lanes cannot be read now; the stage tries again", .field("error", error))
        }
    }

    private func openFiles(ofLane partition: Int32) throws -> LaneFiles {
        let places = partitions(ofLane: partition)
        func directory(of topic: InsightTopic) -> String {
            "\(self.directory)/\(topic.name.rawValue)-\(partition)"
        }
        let receipts = try ReceiptFile(
            directory: directory(of: .receipts), of: places[InsightTopic.receipts.rawValue], cluster: cluster,
            limits: settings.viewLimits, boot: boot, reader: reader)
        let events = try EventFile(
            directory: directory(of: .events), of: places[InsightTopic.events.rawValue], cluster: cluster)
        let rows = try InsightTopic.allCases.compactMap { topic in
            try topic.mapping.map { form in
                try RowFile(
                    directory: directory(of: topic), mapping: form, of: places[topic.rawValue],
                    ageMax: topic.ageMaxMilliseconds,
                    cluster: cluster, limits: settings.viewLimits, boot: boot)
            }
        }
        let lane = LaneFiles(partition: partition, receipts: receipts, events: events, rows: rows)
        for topic in InsightTopic.allCases {
            report(lane.files[topic.rawValue].beginning, model: topic.name.rawValue, lane: partition)
        }
        return lane
    }

    private func report(_ beginning: OpeningState, model: String, lane partition: Int32) {
        switch beginning {
        case .empty: metrics.files(model: model, beginning: "empty").add()
        case .resumed: metrics.files(model: model, beginning: "resumed").add()
        case .discarded(let reason):
            metrics.files(model: model, beginning: "discarded").add()
            log.warning(
                "file discarded, it is rebuilt from its topic", .field("model", model),
                .field("lane", partition), .field("reason", reason.description))
        }
    }

    /// Closes a lane's files and schedules their reopening. A damaged file restarts empty.
    func reopen(lane partition: Int32, after trouble: LaneFileFailure) {
        guard let lane = lanes.removeValue(forKey: partition) else { return }
        openLanes.remove(partition: partition)
        endOffsets.remove(partitions(ofLane: partition))
        consumer.pause(partitions(ofLane: partition))
        metrics.startedOver.add()
        log.warning(
            "a lane is read again from where its files stand", .field("lane", partition),
            .field("reason", trouble.message))
        do {
            for topic in InsightTopic.allCases {
                let file = lane.files[topic.rawValue]
                if topic == trouble.damagedTopic {
                    try file.markUnusable(because: trouble.message)
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
        laneProblems[partition] = trouble.message
    }

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
        mustStartPartitions = false
    }
}
