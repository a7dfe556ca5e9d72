internal import Kafka
internal import Lifecycle
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

extension InsightLoop {
    private func partitions(_ partition: Int32) -> [Kafka.TopicPartition] {
        InsightTopic.allCases.map { Kafka.TopicPartition(layout.name($0.name), partition) }
    }

    // MARK: Assignments

    func hear(_ event: ConsumerEvent) throws {
        switch event {
        case .offered(let partitions): takeOver(partitions)
        case .revoked, .lost:
            closeAll()
            closed = [:]
            troubles = [:]
            offered = nil
            try consumer.release()
        case .end(let place, let offset):
            if let topic = topic(of: place) { lanes[place.partition]?.reached(offset, of: topic) }
        case .committed(_, let outcome):
            // After a failed commit all offsets are committed again, because no new record may come for a
            // day.
            if outcome != .committed { committed = [:] }
        case .suspended, .answered: break
        case .failed(let failure): try hear(failure)
        }
    }

    private func topic(of place: Kafka.TopicPartition) -> InsightTopic? {
        consumer.topics.firstIndex(of: place.topic).flatMap(InsightTopic.init)
    }

    private func hear(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let place, let text):
            // The next record of the file is gone from its topic, so the file would have a gap.
            guard let topic = topic(of: place) else { return }
            reopen(
                place.partition,
                FileTrouble(StoreError.corrupt(path: place.description, what: text), of: topic))
        case .partition, .client:
            failedAt = .now()
            log.warning("records cannot be read now", .field("error", failure))
        case .rebuild: throw StageFailure.client(failure.description)
        }
    }

    /// Accepts an offered assignment. All topics have the same partitions and members, so all parts of a lane
    /// reach the same member.
    private func takeOver(_ partitions: [Kafka.TopicPartition]) {
        closeAll()
        closed = [:]
        troubles = [:]
        committed = [:]
        offered = partitions
        nextOffer = .now()
    }

    /// Takes over the offered lanes. Reading starts later, when the lane's files give the offsets.
    func answerOffer() throws {
        let now = Instant.now()
        guard let offered, now >= nextOffer else { return }
        do throws(KafkaError) {
            try consumer.hold(offered)
        } catch {
            if error.code.isAccessRefused { throw error }
            nextOffer = now.advanced(byMilliseconds: Self.retryMilliseconds)
            log.warning("lanes cannot be taken over now; the stage tries again", .field("error", error))
            return
        }
        self.offered = nil
        for (partition, parts) in Dictionary(grouping: offered, by: \.partition) {
            if parts.count == InsightTopic.allCases.count {
                closed[partition] = now
            } else {
                log.error(
                    "topics are not assigned alike; check that all members run the same version",
                    .field("partition", partition))
            }
        }
        log.info("lanes assigned", .field("count", closed.count))
        onStep(.assigned)
    }

    // MARK: Files

    /// Opens one lane per iteration. A large file is checked completely, and the member must poll in between.
    func openNext() {
        let now = Instant.now()
        guard let (partition, _) = closed.filter({ now >= $0.value }).min(by: { $0.key < $1.key }) else {
            return
        }
        do {
            let lane = try open(partition)
            do {
                try beginReading(lane)
            } catch {
                // Files that are dropped without a close look like those of a process that died.
                try lane.close()
                throw error
            }
            lanes[partition] = lane
            self.open.put(OpenLane(lane))
            publish(lane)
            closed[partition] = nil
            troubles[partition] = nil
            onStep(.opened)
        } catch {
            consumer.pause(partitions(partition))
            closed[partition] = now.advanced(byMilliseconds: Self.retryMilliseconds)
            if troubles.updateValue("\(error)", forKey: partition) != "\(error)" {
                log.error(
                    "a lane's files cannot be opened now; its figures stand still",
                    .field("lane", partition), .field("error", "\(error)"))
            }
        }
    }

    /// Gives the library the lane beside the lanes that are open. It does not have a lane before its files give
    /// the offsets. The other lanes begin again where their files stand, and a file knows the records that it has.
    private func beginReading(_ lane: LaneFiles) throws {
        let starts = try consumer.resolve(
            (lanes.values + [lane]).flatMap(\.starts), withinMilliseconds: GroupQuestion.millisecondsMax)
        // Otherwise `begin` pauses the lane.
        consumer.resume(partitions(lane.partition))
        try consumer.begin(starts)
    }

    private func open(_ partition: Int32) throws -> LaneFiles {
        let places = partitions(partition)
        func directory(_ topic: InsightTopic) -> String {
            "\(self.directory)/\(topic.name.rawValue)-\(partition)"
        }
        let receipts = try ReceiptFile(
            directory(.receipts), of: places[InsightTopic.receipts.rawValue], cluster: cluster,
            limits: settings.viewLimits, boot: boot, reader: reader)
        let events = try EventFile(
            directory(.events), of: places[InsightTopic.events.rawValue], cluster: cluster)
        let rows = try InsightTopic.allCases.compactMap { topic in
            try topic.form.map { form in
                try RowFile(
                    directory(topic), form, of: places[topic.rawValue], ageMax: topic.ageMaxMilliseconds,
                    cluster: cluster, limits: settings.viewLimits, boot: boot)
            }
        }
        let lane = LaneFiles(partition, receipts: receipts, events: events, rows: rows)
        for topic in InsightTopic.allCases {
            tell(lane.files[topic.rawValue].beginning, of: topic.name.rawValue, partition)
        }
        return lane
    }

    private func tell(_ beginning: Beginning, of model: String, _ partition: Int32) {
        switch beginning {
        case .empty: metrics.files(model, "empty").add()
        case .resumed: metrics.files(model, "resumed").add()
        case .discarded(let reason):
            metrics.files(model, "discarded").add()
            log.warning(
                "file discarded, it is rebuilt from its topic", .field("model", model),
                .field("lane", partition), .field("reason", reason.description))
        }
    }

    /// Closes a lane's files and schedules their reopening. A damaged file restarts empty.
    func reopen(_ partition: Int32, _ trouble: FileTrouble) {
        guard let lane = lanes.removeValue(forKey: partition) else { return }
        open.remove(partition)
        consumer.pause(partitions(partition))
        metrics.startedOver.add()
        log.warning(
            "a lane is read again from where its files stand", .field("lane", partition),
            .field("reason", trouble.text))
        do {
            for topic in InsightTopic.allCases {
                let file = lane.files[topic.rawValue]
                if topic == trouble.damaged { try file.condemn(trouble.text) } else { try file.close() }
            }
        } catch {
            log.warning(
                "a lane's files were not closed properly", .field("lane", partition),
                .field("error", "\(error)"))
        }
        closed[partition] = Instant.now().advanced(byMilliseconds: Self.retryMilliseconds)
        troubles[partition] = trouble.text
    }

    func closeAll() {
        for lane in lanes.values {
            open.remove(lane.partition)
            do {
                try lane.close()
            } catch {
                log.warning(
                    "a lane's files were not closed properly; the next start checks them completely",
                    .field("lane", lane.partition), .field("error", "\(error)"))
            }
        }
        lanes = [:]
    }
}
