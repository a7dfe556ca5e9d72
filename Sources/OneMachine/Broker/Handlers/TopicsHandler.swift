internal import Telemetry

/// The handler of CreateTopics, DeleteTopics and CreatePartitions.
struct TopicsHandler {
    unowned let node: BrokerNode

    func create(_ request: CreateTopicsRequest, for exchange: RequestExchange) {
        var mentions: [String: Int] = [:]
        for topic in request.topics { mentions[topic.name, default: 0] += 1 }
        let topics = request.topics.map { requested in
            if mentions[requested.name] != 1 {
                return CreateTopicsResponse.Topic(
                    name: requested.name, error: .invalidRequest,
                    message: "topic \(requested.name) is named more than once in the request; name it once")
            }
            return create(requested, onlyChecks: request.validateOnly)
        }
        let response = CreateTopicsResponse(topics: topics)
        exchange.answer { response.write(to: &$0, version: exchange.version) }
    }

    private func create(
        _ requested: CreateTopicsRequest.Topic, onlyChecks: Bool
    ) -> CreateTopicsResponse.Topic {
        var answer = CreateTopicsResponse.Topic(name: requested.name)
        if let refusal = refusal(of: requested) {
            answer.error = refusal.code
            answer.message = refusal.message
            return answer
        }
        let wantsDefault = requested.partitions == CreateTopicsRequest.brokerDefault
        let partitions = wantsDefault ? node.settings.defaultPartitions : requested.partitions
        let settings = Dictionary(
            requested.settings.compactMap { setting in setting.value.map { (setting.name, $0) } }
        ) { _, last in last }
        do throws(TopicStoreError) {
            try node.topics.checkCreation(of: requested.name, partitions: partitions, settings: settings)
            answer.partitions = partitions
            guard !onlyChecks else { return answer }
            let topic = try node.topics.create(requested.name, partitions: partitions, settings: settings)
            node.addReaders(of: topic)
            answer.id = topic.id
            answer.settings = ConfigsHandler.settings(of: topic)
            // Debug level, because a new installation creates two dozen topics and logs their number.
            node.log.debug(
                "topic created", .field("topic", topic.name), .field("partitions", topic.partitions.count))
        } catch {
            answer.error = error.code
            answer.message = error.description
        }
        return answer
    }

    /// Returns the reason why a topic is not created, apart from those of `TopicStore`.
    private func refusal(of requested: CreateTopicsRequest.Topic) -> Refusal? {
        if requested.assignments > 0 {
            return Refusal(
                code: .invalidReplicaAssignment,
                message: "topic \(requested.name): one broker chooses by itself; give a count")
        }
        let replication = requested.replication
        if replication != 1, replication != Int16(CreateTopicsRequest.brokerDefault) {
            return Refusal(
                code: .invalidReplicationFactor,
                message:
                    "topic \(requested.name): replication factor is \(replication), and there is one broker; give 1"
            )
        }
        for setting in requested.settings {
            if let refusal = Refusal.ofLongSetting(name: setting.name, value: setting.value) {
                return refusal
            }
        }
        return nil
    }

    func delete(_ request: DeleteTopicsRequest, for exchange: RequestExchange) {
        let outcomes = request.names.map { name in
            var outcome = NamedOutcome(name: name)
            guard node.topics.topic(named: name)?.isInternal != true else {
                outcome.error = .invalidTopic
                outcome.message = "topic \(name) belongs to the broker; it cannot be deleted"
                return outcome
            }
            do throws(TopicStoreError) {
                try delete(name)
            } catch {
                outcome.error = error.code
                outcome.message = error.description
            }
            return outcome
        }
        exchange.answer { DeleteTopicsResponse.write(outcomes, to: &$0, version: exchange.version) }
    }

    /// Deletes the topic now, or later if a test delays it.
    private func delete(_ name: String) throws(TopicStoreError) {
        if let topic = node.topics.topic(named: name) {
            let isDelayed = node.delayDeletion(of: topic, remove: { try? remove(name) })
            if isDelayed { return }
        }
        try remove(name)
    }

    private func remove(_ name: String) throws(TopicStoreError) {
        let logs = node.topics.topic(named: name)?.partitions ?? []
        try node.topics.delete(name)
        node.removeLogs(logs)
        node.coordinators.removeOffsets(ofTopic: name)
        node.log.info("topic deleted", .field("topic", name))
    }

    /// Refuses to add partitions. A key's partition depends on their number, so records of the same key
    /// would be in two partitions.
    func createPartitions(_ names: [String], for exchange: RequestExchange) {
        let outcomes = names.map { name in
            guard node.topics.topic(named: name) != nil else {
                return NamedOutcome(
                    name: name, error: .unknownTopicOrPartition, message: "topic \(name) does not exist")
            }
            return NamedOutcome(
                name: name, error: .invalidPartitions,
                message: "topic \(name) keeps its partitions: keys are bound to them; create another topic")
        }
        exchange.answer { CreatePartitions.writeResponse(outcomes, to: &$0) }
    }
}
