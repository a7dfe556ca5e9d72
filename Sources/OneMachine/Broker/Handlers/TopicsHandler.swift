internal import Telemetry

/// The handler that creates and deletes topics.
struct TopicsHandler {
    unowned let node: BrokerNode

    func create(_ request: CreateTopicsRequest, for exchange: RequestExchange) {
        var seen: [String: Int] = [:]
        for topic in request.topics { seen[topic.name, default: 0] += 1 }
        let topics = request.topics.map { wanted in
            if seen[wanted.name] != 1 {
                return CreateTopicsResponse.Topic(
                    name: wanted.name, error: .invalidRequest,
                    message: "topic \(wanted.name) is named twice in the request; name it once")
            }
            return create(wanted, onlyChecks: request.validateOnly)
        }
        let response = CreateTopicsResponse(topics: topics)
        exchange.answer { response.write(to: &$0, version: exchange.version) }
    }

    private func create(_ wanted: CreateTopicsRequest.Topic, onlyChecks: Bool) -> CreateTopicsResponse.Topic {
        var answer = CreateTopicsResponse.Topic(name: wanted.name)
        if let (error, message) = refusal(of: wanted) {
            answer.error = error
            answer.message = message
            return answer
        }
        let partitions = wanted.partitions == -1 ? node.settings.defaultPartitions : wanted.partitions
        // A null value asks for the default.
        let settings = Dictionary(
            wanted.settings.compactMap { setting in setting.value.map { (setting.name, $0) } }
        ) { _, new in new }
        do throws(TopicStoreError) {
            try node.topics.checkCreation(of: wanted.name, partitions: partitions, settings: settings)
            answer.partitions = partitions
            guard !onlyChecks else { return answer }
            let topic = try node.topics.create(wanted.name, partitions: partitions, settings: settings)
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

    private func refusal(of wanted: CreateTopicsRequest.Topic) -> (ErrorCode, String)? {
        if wanted.assignments > 0 {
            return (
                .invalidReplicaAssignment, "topic \(wanted.name): one broker chooses by itself; give a count"
            )
        }
        if wanted.replication != 1, wanted.replication != -1 {
            return (
                .invalidReplicationFactor,
                "topic \(wanted.name): replication factor is \(wanted.replication), there is one broker; give 1"
            )
        }
        for setting in wanted.settings {
            if let message = SettingLength.refusal(name: setting.name, value: setting.value) {
                return (.invalidConfig, message)
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

    private func delete(_ name: String) throws(TopicStoreError) {
        guard let topic = node.topics.topic(named: name),
            node.delayDeletion(of: topic, remove: { try? remove(name) })
        else { return try remove(name) }
    }

    private func remove(_ name: String) throws(TopicStoreError) {
        let logs = node.topics.topic(named: name)?.partitions ?? []
        try node.topics.delete(name)
        node.removeLogs(logs)
        node.coordinators.removeOffsets(ofTopic: name)
        node.log.info("topic deleted", .field("topic", name))
    }

    /// Refuses more partitions. A key's partition depends on their number, so the same key would be in
    /// two partitions.
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
