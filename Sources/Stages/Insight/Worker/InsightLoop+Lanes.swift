internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

extension InsightLoop {
    private func partitions(_ partition: Int32) -> [TopicPartition] {
        InsightTopic.allCases.map { TopicPartition(layout.name($0.name), partition) }
    }

    // MARK: Assignments

    func hear(_ event: ConsumerEvent) throws {
        membership.hear(event)
        switch event {
        case .offered(let partitions): takeOver(partitions)
        case .revoked, .lost:
            closeAll()
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

    private func topic(of place: TopicPartition) -> InsightTopic? {
        consumer.topics.firstIndex(of: place.topic).flatMap(InsightTopic.init)
    }

    private func hear(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let place, _):
            guard let topic = topic(of: place), let lane = lanes[place.partition] else { return }
            lane.stop(topic)
            consumer.pause([place])
            awaited.want([place], at: Instant.now().advanced(byMilliseconds: Self.retryMilliseconds))
        case .partition, .client:
            failedAt = .now()
            log.warning("records cannot be read now", .field("error", failure))
        case .rebuild: throw StageFailure.client(failure.description)
        }
    }

    /// Accepts an offered assignment. All topics have the same partitions and members, so all parts of a lane
    /// reach the same member.
    private func takeOver(_ partitions: [TopicPartition]) {
        closeAll()
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
            lanes[partition] = lane
            awaited.want(partitions(partition), at: now)
            self.open.put(OpenLane(lane))
            publish(lane)
            closed[partition] = nil
            troubles[partition] = nil
            onStep(.opened)
        } catch {
            closed[partition] = now.advanced(byMilliseconds: Self.retryMilliseconds)
            if troubles.updateValue("\(error)", forKey: partition) != "\(error)" {
                log.error(
                    "a lane's files cannot be opened now; its figures stand still",
                    .field("lane", partition), .field("error", "\(error)"))
            }
        }
    }

    /// Asks for the ends of partitions, and begins those whose ends are known now.
    func begin(at now: Instant) {
        awaited.ask(at: now, asker.ask)
        for (question, answer) in asker.takeAnswers() {
            for found in awaited.take(answer, to: question, at: now) {
                begin(found.partition, between: found.ends)
            }
        }
        beginAll(at: now)
    }

    /// Begins to read a partition of an open lane.
    private func begin(_ place: TopicPartition, between ends: Watermarks) {
        guard let lane = lanes[place.partition], let topic = topic(of: place) else { return }
        let mark = lane.files[topic.rawValue].mark
        switch mark.fit(ends, of: topic.name, isCompacted: layout.isCompacted(topic.name)) {
        case .readsOn: break
        case .lacksNothing: lane.skip(topic, to: ends.low)
        case .lacksExpired(let gap):
            log.error(
                "records were deleted before insight read them; its figures lack them: find out why the stage stood still",
                .field("partition", place.description), .field("from", gap.committed),
                .field("to", ends.low))
            consumer.countSkipped(gap.missing)
            lane.skip(topic, to: ends.low)
        case .isOfAnotherTopic(let gap):
            return reopen(
                place.partition,
                FileTrouble(
                    StoreError.corrupt(path: place.description, what: gap.description), of: topic))
        }
        lane.begin(topic, from: ends.low)
        mustBegin = true
    }

    /// The pause between two beginnings. Each one fetches all partitions again.
    private static let betweenBeginningsMilliseconds = 1000

    /// Gives the client every partition whose ends are known. No batch is in hand, because its records come again.
    private func beginAll(at now: Instant) {
        let isOpening = closed.values.contains { $0 <= now }
        guard mustBegin, !isOpening || now >= nextBegin else { return }
        nextBegin = now.advanced(byMilliseconds: Self.betweenBeginningsMilliseconds)
        settle()
        let starts = lanes.values.flatMap(\.starts)
        do throws(KafkaError) {
            consumer.resume(starts.map(\.partition))
            try consumer.begin(starts)
            mustBegin = false
        } catch {
            log.warning("lanes cannot be read now; the stage tries again", .field("error", error))
        }
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
        awaited.forget(partitions(partition))
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
        closed = [:]
        troubles = [:]
        awaited.forgetAll()
        mustBegin = false
    }
}
