internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

extension InsightLoop {
    /// Handles an event of the consumer: a change of the assignment, the end of a partition, or a failure.
    func handle(_ event: ConsumerEvent) throws {
        membership.handle(event)
        switch event {
        case .offered(let partitions): recordOffer(of: partitions)
        case .revoked, .lost:
            closeAll()
            offered = nil
            offerProblem = nil
            try consumer.release()
        case .reachedEnd(let topicPartition, let offset):
            if let topic = topic(of: topicPartition) {
                lanes[topicPartition.partition]?.recordEnd(offset, of: topic)
            }
        case .committed(_, let outcome):
            // After a failed commit all offsets are committed again, because no new record may come for a
            // day.
            if outcome != .committed { committedOffsets = [:] }
        case .suspended, .queryCompleted: break
        case .failed(let failure): try handle(failure)
        }
    }

    private func handle(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let topicPartition, _):
            // The topic has deleted the next record of a file. The ends decide how the file continues.
            guard let topic = topic(of: topicPartition), let lane = lanes[topicPartition.partition] else {
                return
            }
            lane.stopReading(topic)
            consumer.pause([topicPartition])
            endOffsets.add(
                [topicPartition], at: Instant.now().advanced(byMilliseconds: Self.retryMilliseconds))
        case .partition, .client:
            failedAt = .now()
            log.warning("records cannot be read now", .field("error", failure))
        case .unusable: throw StageFailure.client(failure.description)
        }
    }

    /// Notes an offered assignment.
    private func recordOffer(of partitions: [TopicPartition]) {
        closeAll()
        committedOffsets = [:]
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
        let numbers = OfferedNumbers(offered, of: InsightTopic.subscription.topics.map(layout.name))
        for partition in numbers.complete { unopenedLanes[partition] = now }
        offerProblem = numbers.readinessProblem
        if let offerProblem {
            log.error("lanes are not assigned in all topics", .field("reason", offerProblem))
        }
        log.info("lanes assigned", .field("count", unopenedLanes.count))
        onStep(.lanesAssigned)
    }

    /// Returns the partitions of a lane, one of each topic in the order of `InsightTopic`.
    func partitions(ofLane partition: Int32) -> [TopicPartition] {
        InsightTopic.allCases.map { TopicPartition(layout.name(of: $0.name), partition) }
    }

    func topic(of topicPartition: TopicPartition) -> InsightTopic? {
        consumer.topics.firstIndex(of: topicPartition.topic).flatMap(InsightTopic.init)
    }
}
